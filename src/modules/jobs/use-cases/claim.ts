// The claim of a process on a job. It ends by itself a few seconds after its process died, and is renewed while a batch
// takes long. It only spreads the work over the processes. What protects the data is that every write of a batch first
// locks the job's row and checks the claim there, so a process that was suspended writes nothing after another one has
// taken its job.

import { SECOND_MS } from "#core/domain/time.ts";
import type { Clock, Random } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { claimJob, type Job, renewClaim } from "../store/jobs.ts";
import type { BatchFailure } from "./lines.ts";

/**
 * Duration of a claim. A job of a killed process waits this long, and then until another process looks for work, which
 * every process does once a second.
 */
export const CLAIM_MS = 3 * SECOND_MS;
/** Time after which the claim is renewed during a batch. A renewal may be two seconds late, as on a busy database. */
const RENEW_AFTER_MS = 750;
const CLAIM_BYTES = 16;

/**
 * Time after which a failed batch is tried again. An unexpected error will probably repeat itself, and each try is an
 * error in the log.
 */
export const RETRY_MS: Readonly<Record<BatchFailure["cause"], number>> = {
	database: 5 * SECOND_MS,
	unexpected: 30 * SECOND_MS,
};

interface ClaimDeps {
	store: Store;
	clock: Clock;
	random: Random;
}

/** Claims a job that needs work and that no process works on, or the given one. */
export function claim({ store, clock, random }: ClaimDeps, id?: number): Promise<Job | undefined> {
	const nowMs = clock.nowMs();
	return claimJob(store, random.hex(CLAIM_BYTES), nowMs, nowMs + CLAIM_MS, id);
}

/** Runs `work`, and renews the claim on the job meanwhile. Most batches end before the first renewal. */
export async function keepClaimDuring<Value>(
	{ store, clock }: Omit<ClaimDeps, "random">,
	job: Job,
	work: () => Promise<Value>,
): Promise<Value> {
	let isOver = false;
	let cancel = (): void => undefined;
	let renewal: Promise<unknown> = Promise.resolve();
	const renewLater = (): void => {
		cancel = clock.after(RENEW_AFTER_MS, () => {
			renewal = renewClaim(store.db, job, clock.nowMs() + CLAIM_MS)
				// A failed renewal is ignored. If the database fails, the batch fails as well and reports the error.
				.catch(() => undefined)
				.then(() => {
					if (!isOver) renewLater();
				});
		});
	};
	renewLater();
	try {
		return await work();
	} finally {
		isOver = true;
		cancel();
		// A renewal that is still under way must not follow the release of the claim.
		await renewal;
	}
}
