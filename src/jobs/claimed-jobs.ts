// How any job is worked off in the background: claimed, a batch at a time, and given back when the process stops. A
// process that dies leaves its claim to lapse; whoever takes the job then goes on behind the last batch that was stored.

import type { ConversionsDeps } from "../conversions/deps.ts";

/** Far longer than a batch takes; how long a job stands still after its process died. */
export const CLAIM_MS = 30_000;
export const CLAIM_BYTES = 16;

export interface JobWork<Job> {
	claim(claim: string, nowMs: number, untilMs: number): Promise<Job | undefined>;
	hasWork(job: Job): boolean;
	/** The job as it is after one more batch; undefined when the claim has lapsed, and nothing was written. */
	workOnBatch(job: Job): Promise<Job | undefined>;
	/** So that the next process need not wait for the claim to lapse. */
	giveBack(job: Job): Promise<unknown>;
}

type ClaimDeps = Pick<ConversionsDeps, "clock" | "random">;

/** Returns when there is nothing left to do here, or when asked to stop. */
export async function workOffAll<Job>(
	deps: ClaimDeps,
	work: JobWork<Job>,
	isStopping: () => boolean,
): Promise<void> {
	while (!isStopping()) {
		const nowMs = deps.clock.nowMs();
		const job = await work.claim(deps.random.hex(CLAIM_BYTES), nowMs, nowMs + CLAIM_MS);
		if (job === undefined) return;
		await workOffJob(deps, work, job, isStopping);
	}
}

export async function workOffJob<Job>(
	{ clock }: ClaimDeps,
	work: JobWork<Job>,
	claimed: Job,
	isStopping: () => boolean,
): Promise<void> {
	let job: Job | undefined = claimed;
	while (job !== undefined && work.hasWork(job)) {
		if (isStopping()) {
			await work.giveBack(job);
			return;
		}
		job = await work.workOnBatch(job);
		await clock.yieldLoop();
	}
}
