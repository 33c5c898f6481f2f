// pg-boss, with whole batches that are fetched, stored and completed, two at a time. If requests in flight
// are limited, each shop is a group, and a fetch takes at most as many jobs of a group as its limit still
// allows (groupConcurrency).

import { PgBoss } from "pg-boss";
import { type PeerJob, runPeer } from "../peer-drain.ts";

const QUEUE = "callbacks";
const BATCH_JOBS = 500;
const BATCHES_AT_WORK = 2;

await runPeer(async ({ queueUrl, cap }) => {
	const boss = new PgBoss({ connectionString: queueUrl, schedule: false, supervise: false });
	boss.on("error", (error) => {
		throw error;
	});
	await boss.start();
	await boss.createQueue(QUEUE);
	return {
		async add(jobs) {
			const group = ({ shop }: PeerJob) => (cap === null ? {} : { group: { id: `shop-${shop}` } });
			await boss.insert(
				QUEUE,
				jobs.map((job) => ({ data: job, ...group(job) })),
			);
		},
		async work({ deliveries, send, storeAll }) {
			const options = {
				batchSize: BATCH_JOBS,
				...(cap === null ? {} : { groupConcurrency: cap }),
			};
			let left = deliveries;
			const workBatches = async (): Promise<void> => {
				// pg-boss's own work() is not used, because it pauses for at least half a second after a partial
				// batch.
				while (left > 0) {
					const jobs = await boss.fetch<PeerJob>(QUEUE, options);
					if (jobs.length === 0) continue;
					left -= jobs.length;
					await storeAll(await Promise.all(jobs.map(({ data }) => send(data))));
					await boss.complete(
						QUEUE,
						jobs.map(({ id }) => id),
					);
				}
			};
			await Promise.all(Array.from({ length: BATCHES_AT_WORK }, workBatches));
		},
		close: () => boss.stop(),
	};
});
