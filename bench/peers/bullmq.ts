// BullMQ on Redis or PostgreSQL, depending on the URL. Completing a job fetches the next one. The open-source
// edition has neither batches nor a limit for each shop. Groups with such limits belong to its Pro edition.

import { createPostgresBackend, Queue, setDefaultBackendFactory, Worker } from "bullmq";
import { type PeerJob, runPeer } from "../peer-drain.ts";

const QUEUE = "callbacks";
/**
 * Concurrency, the same as for graphile-worker. BullMQ's documentation only says that it may be high if jobs
 * wait for the network.
 */
const JOBS_AT_ONCE = 256;

await runPeer(async ({ queueUrl, cap }) => {
	if (cap !== null) throw new Error("BullMQ has no cap per shop");
	const isOnRedis = queueUrl.startsWith("redis:");
	if (!isOnRedis) setDefaultBackendFactory(createPostgresBackend);
	const connection = isOnRedis
		? { url: queueUrl, maxRetriesPerRequest: null }
		: { connectionString: queueUrl, migrate: true };
	const queue = new Queue<PeerJob>(QUEUE, { connection });
	await queue.waitUntilReady();
	return {
		async add(jobs) {
			await queue.addBulk(jobs.map((data) => ({ name: "callback", data, opts: { removeOnComplete: true } })));
		},
		async work({ deliveries, deliver }) {
			const { promise: allDone, resolve, reject } = Promise.withResolvers<void>();
			let left = deliveries;
			const worker = new Worker<PeerJob>(QUEUE, ({ data }) => deliver(data), {
				connection,
				concurrency: JOBS_AT_ONCE,
			});
			worker.on("error", reject);
			worker.on("failed", (_job, error) => reject(error));
			worker.on("completed", () => {
				if (--left === 0) resolve();
			});
			await allDone;
			await worker.close();
		},
		close: () => queue.close(),
	};
});
