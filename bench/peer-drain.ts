// Runs one round of another job queue (a peer). Jobs are put into its queue, which is not measured. Then they
// are sent until each is stored and completed. Any failure ends the program, because a peer that retries
// would only seem slow.

import { composeEvent } from "#core/domain/event.ts";
import { type SigningKey, signingKey } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import { type PeerAttempt, PeerAttempts } from "./peer-attempts.ts";
import { PeerSender } from "./peer-sender.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";
import { conversionName } from "./seed-due.ts";
import { signRequest } from "./signed-request.ts";

/** Command line arguments of the program of a peer, which is another job queue. */
export interface PeerOptions {
	/** URL of the peer's queue. */
	queueUrl: string;
	/** URL of the database for the attempts, and for the queue of a peer on PostgreSQL. */
	postgresUrl: string;
	/** Origin of the server that receives the callbacks. */
	origin: string;
	caFile: string;
	deliveries: number;
	programmes: number;
	/** Maximum number of requests in flight per shop, or null for no limit. */
	cap: number | null;
}

export interface PeerAnswer {
	/** Rate from the first request until the last job is completed. */
	perSecond: number;
}

/** Content of a job in the queue of a peer. */
export interface PeerJob {
	number: number;
	shop: number;
	event: string;
}

export interface PeerQueue {
	add(jobs: readonly PeerJob[]): Promise<void>;
	/** Runs the workers until all jobs are done and their completion is stored. */
	work(tools: PeerTools): Promise<void>;
	close(): Promise<void>;
}

export interface PeerTools {
	deliveries: number;
	/** Signs and posts a callback. */
	send(job: PeerJob): Promise<PeerAttempt>;
	/**
	 * Signs and posts a callback, and waits until the attempt is committed. Concurrent attempts share a
	 * statement.
	 */
	deliver(job: PeerJob): Promise<void>;
	storeAll(attempts: readonly PeerAttempt[]): Promise<void>;
}

const JOBS_PER_INSERT = 1_000;

export function peerArguments(options: PeerOptions): string[] {
	return [JSON.stringify(options)];
}

/** Runs the program of a peer from start to end. Prints {"perSecond":…}. */
export async function runPeer(open: (options: PeerOptions) => Promise<PeerQueue>): Promise<void> {
	const options: PeerOptions = JSON.parse(process.argv[2] ?? "");
	const { postgresUrl, origin, caFile, deliveries, programmes } = options;
	const attempts = new PeerAttempts(postgresUrl);
	const sender = new PeerSender(origin, caFile);
	const queue = await open(options);
	for (let from = 0; from < deliveries; from += JOBS_PER_INSERT) {
		const length = Math.min(JOBS_PER_INSERT, deliveries - from);
		await queue.add(Array.from({ length }, (_, at) => jobOf(from + at, programmes)));
	}
	await attempts.analyze();

	const random = createRandom();
	const shops = Array.from({ length: programmes }, (_, shop) => shopOf(shop, `rbs_${random.hex(32)}`));
	let startedAt = 0;
	const send = async (job: PeerJob): Promise<PeerAttempt> => {
		if (startedAt === 0) startedAt = performance.now();
		const { number, shop, event } = job;
		const { key, target } = shops[shop] ?? shopOf(shop, "");
		const request = signRequest(key, target, event);
		await sender.post(request);
		return { number, shop, request, endedAtMs: Date.now() };
	};
	const deliver = async (job: PeerJob): Promise<void> => {
		try {
			await attempts.store(await send(job));
		} catch (error) {
			process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
			process.exit(1);
		}
	};
	await queue.work({ deliveries, send, deliver, storeAll: (batch) => attempts.storeAll(batch) });
	const answer: PeerAnswer = { perSecond: deliveries / ((performance.now() - startedAt) / 1_000) };

	const stored = await attempts.count();
	if (stored !== deliveries) throw new Error(`${stored} attempts are stored for ${deliveries} deliveries`);
	await queue.close();
	await Promise.all([attempts.close(), sender.close()]);
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}

function jobOf(number: number, programmes: number): PeerJob {
	const subject = { ...SAMPLE_SUBJECT, conversionId: conversionName(number) };
	return { number, shop: number % programmes, event: composeEvent(subject) };
}

function shopOf(shop: number, secret: string): { key: SigningKey; target: string } {
	return { key: signingKey(secret), target: `/shop/${shop}` };
}
