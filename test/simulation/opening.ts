// Creates the people and programmes of a run with the real use cases, before the first fault.

import type { Result } from "#core/domain/fault.ts";
import { createPerson } from "#core/people/people.ts";
import type { Clock, Random } from "#core/ports.ts";
import { openProgramme } from "#core/programmes/open-programme.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import type { Store } from "#core/store/store.ts";
import { randomPort, type SeededRandom } from "../support/seeded-random.ts";
import type { Plan } from "./plan.ts";
import { findAt, type ProgrammeRecord } from "./programme-record.ts";

const CURRENCY_DIGITS = { EUR: 2, JPY: 0, BHD: 3 } as const;

export async function openProgrammes(
	store: Store,
	plan: Plan,
	drawn: SeededRandom,
	nowMs: number,
): Promise<ProgrammeRecord[]> {
	const clock: Clock = {
		nowMs: () => nowMs,
		monotonicMs: () => nowMs,
		isSure: () => true,
		after: never,
		yieldLoop: never,
	};
	const random: Random = randomPort(drawn);
	const deps = { store, random, clock };
	const programmes: ProgrammeRecord[] = [];
	for (const [index, terms] of plan.programmes.entries()) {
		const ownerEmail = `owner-${index}@shop.example`;
		const owner = take(await createPerson(deps, { email: ownerEmail, kind: "shop" }));
		await setPassword(deps.store.db, owner.id, "hash", deps.clock.nowMs());
		const opened = take(
			await openProgramme(deps, { kind: "known" }, { ...terms, name: `Shop ${index}`, ownerEmail }),
		);
		const { programme } = opened;
		const rates = [{ fromMs: 0, commissionRate: terms.commissionRate, feeRate: terms.feeRate }];
		programmes.push({
			id: programme.id,
			receiver_id: programme.receiver_id,
			publicId: programme.public_id,
			hosts: [`shop-${index}.example`, `new-shop-${index}.example`],
			ownerEmail,
			badDayPercent: terms.badDayPercent,
			terms: {
				...terms,
				ratesAt: (atMs) => findAt(rates, atMs),
				currencyDigits: CURRENCY_DIGITS[terms.currency],
				parkedDays: programme.parked_days,
			},
			rates,
			urls: [],
			secrets: [],
		});
	}
	return programmes;
}

function take<Value>(result: Result<Value>): Value {
	if (!result.ok) throw new Error(result.fault.detail);
	return result.value;
}

function never(): never {
	throw new Error("making programmes waits for nothing");
}
