// Simulates staff who change the rates of programmes and of partners during a run. Sales that are credited later must
// still get the rates of their own time.

import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeProgramme } from "#core/programmes/programme-terms.ts";
import type { Store } from "#core/store/store.ts";
import { savePartnership } from "#modules/partners/use-cases/partnerships.ts";
import { makeStillClock } from "../support/clock.ts";
import { randomPort, type SeededRandom } from "../support/seeded-random.ts";
import type { Crediting } from "./crediting.ts";
import { RATES } from "./plan.ts";
import type { ProgrammeRecord } from "./programme-record.ts";

export interface RateChangesSite {
	random: SeededRandom;
	/** Number of virtual days on which faults happen. */
	days: number;
	programmes: readonly ProgrammeRecord[];
	crediting: Pick<Crediting, "partnershipsOf">;
	store: Store;
	nowMs(): number;
	at(atMs: number, run: () => void): void;
	trace(line: string): void;
	supervise(work: Promise<void>): void;
}

const MAX_CHANGES = 12;

export function scheduleRateChanges(site: RateChangesSite): void {
	const { random, programmes, crediting, store, trace } = site;
	const deps = { store, clock: makeStillClock(site.nowMs), random: randomPort(random) };

	async function changeRates(programme: ProgrammeRecord): Promise<void> {
		const [commissionRate, feeRate] = [random.pick(RATES), random.pick(RATES)];
		const changed = await changeProgramme(deps, COMMAND_LINE, programme.id, { commissionRate, feeRate });
		if (!changed.ok) throw new Error("rates of a programme were refused");
		programme.rates.push({ fromMs: site.nowMs(), commissionRate, feeRate });
		trace(`rates ${programme.id}: ${commissionRate} ${feeRate}`);
	}

	async function changeCommission(programme: ProgrammeRecord): Promise<void> {
		const partnership = random.pick(crediting.partnershipsOf(programme));
		const rate = random.chance(0.3) ? null : random.pick(RATES);
		const address = { programmeId: programme.id, publicId: partnership.publicId };
		const saved = await savePartnership(deps, COMMAND_LINE, address, { rate: rate ?? "", fixed: "" });
		if (!saved.ok) throw new Error(saved.fault.detail);
		partnership.rates.push({ fromMs: site.nowMs(), rate });
		trace(`commission ${partnership.id}: ${rate}`);
	}

	const changes = random.between(0, MAX_CHANGES);
	for (let n = 0; n < changes; n++) {
		site.at(site.nowMs() + random.between(0, site.days * DAY_MS), () => {
			const programme = random.pick(programmes);
			site.supervise((random.chance(0.5) ? changeRates : changeCommission)(programme));
		});
	}
}
