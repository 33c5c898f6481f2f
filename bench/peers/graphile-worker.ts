// graphile-worker with its local queue and batched completion. A named queue runs one job at a time. If
// requests in flight are limited, each shop therefore gets as many named queues as it may have requests in
// flight.

import { Logger, makeWorkerUtils, run, WorkerPreset } from "graphile-worker";
import { type PeerJob, runPeer } from "../peer-drain.ts";

const TASK = "callback";
const JOBS_AT_ONCE = 256;
const LOCAL_QUEUE_JOBS = 1_000;
/**
 * Delay before completions are written. Without a limit per shop it is the default of the documentation. With
 * a limit it is zero, because a named queue waits for the completion.
 */
const COMPLETION_DELAY_MS = { withoutCap: 250, withCap: 0 };
/**
 * Interval at which graphile-worker looks for named queues that have become free. It polls, because it is not
 * notified.
 */
const POLL_MS = 10;

declare global {
	namespace GraphileWorker {
		interface Tasks {
			[TASK]: PeerJob;
		}
	}
}

const quiet = new Logger(() => (level, message) => {
	if (level === "error") throw new Error(message);
});

await runPeer(async ({ queueUrl, programmes, cap }) => {
	const delayMs = cap === null ? COMPLETION_DELAY_MS.withoutCap : COMPLETION_DELAY_MS.withCap;
	const preset = {
		extends: [WorkerPreset],
		worker: {
			connectionString: queueUrl,
			logger: quiet,
			concurrentJobs: JOBS_AT_ONCE,
			localQueue: { size: LOCAL_QUEUE_JOBS },
			completeJobBatchDelay: delayMs,
			failJobBatchDelay: delayMs,
			pollInterval: POLL_MS,
		},
	};
	const producer = await makeWorkerUtils({ preset });
	const queueOf = ({ number, shop }: PeerJob): { queueName?: string } =>
		cap === null ? {} : { queueName: `shop-${shop}-${Math.floor(number / programmes) % cap}` };
	return {
		async add(jobs) {
			await producer.addJobs(jobs.map((job) => ({ identifier: TASK, payload: job, ...queueOf(job) })));
		},
		async work({ deliveries, deliver }) {
			const { promise: allDone, resolve } = Promise.withResolvers<void>();
			let left = deliveries;
			const taskList = {
				[TASK]: async (job: PeerJob) => {
					await deliver(job);
					if (--left === 0) resolve();
				},
			};
			const runner = await run({ preset, taskList, noHandleSignals: true });
			await allDone;
			// Stopping writes the completions at once, without the delay.
			await runner.stop();
		},
		async close() {
			await producer.release();
		},
	};
});
