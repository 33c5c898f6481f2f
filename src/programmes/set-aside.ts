// What failed for good stays in sight until it was resent, or a person has set it aside: badge, Overview and mails count
// it. It stays in the list of failed callbacks, and can be resent from there.

import { type Result, succeed } from "../domain/fault.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import type { Clock } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { failedInSight, setAside } from "../store/queries/deliveries.ts";
import type { Store } from "../store/store.ts";

/** Per transaction: nobody else's write waits for a hundred thousand. */
const BATCH_ROWS = 500;

/** What had failed by the time the person saw. Resolves to how many were set aside. */
export async function setFailedAside(
	{ store, clock }: { store: Store; clock: Clock },
	{ programmeId, maker }: { programmeId: number; maker: Maker },
	untilMs: number,
): Promise<Result<number>> {
	let count = 0;
	for (;;) {
		const done = await transactInProgramme<number>(
			store,
			maker,
			programmeId,
			async (trx) => {
				const failed = await failedInSight(trx, programmeId, BATCH_ROWS, untilMs);
				await setAside(
					trx,
					failed.map(({ id }) => id),
				);
				const note = { personId: maker.personId, programmeId, action: "deliveries.set_aside" } as const;
				if (failed.length > 0) await noteAudit(trx, { ...note, detail: `${failed.length}` }, clock.nowMs());
				return succeed(failed.length);
			},
			"integrate",
		);
		if (!done.ok) return done;
		count += done.value;
		if (done.value < BATCH_ROWS) return succeed(count);
		await clock.yieldLoop();
	}
}
