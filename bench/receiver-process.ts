// Starts the process that receives callbacks, and reads its counts of requests.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Arrival {
	shop: string;
	conversion: string;
	/**
	 * Time of arrival in milliseconds since 1970, with fractions. The clocks of all processes on a machine
	 * agree.
	 */
	atMs: number;
}

export interface ReceiverReport {
	count: number;
	firstAtMs: number;
	lastAtMs: number;
	/** Number of requests that repeated an event of the same conversion. */
	twice: number;
	/** Highest number of unanswered requests of one shop. */
	mostAtOnce: number;
	/** All requests in order, if the receiver was started with "watch". */
	arrivals: readonly Arrival[];
}

export interface Receiver {
	port: number;
	caFile: string;
	pid: number;
	/**
	 * Returns the shop's Postback URL. receiver.ts lists the suffixes that may follow the number of the shop.
	 */
	url(shop: number | string): string;
	/** Returns the report with its counts, but without the list of requests. */
	count(): Promise<ReceiverReport>;
	report(): Promise<ReceiverReport>;
	forget(): Promise<void>;
	/** Resolves when this many requests have arrived, and fails if none arrives for a long time. */
	until(count: number, onProgress?: (count: number) => void): Promise<void>;
	stop(): Promise<void>;
}

const LOOK_MS = 20;
const PROGRESS_MS = 5_000;
/**
 * Time without a request after which a run counts as stalled. It is longer than any pause of a run that
 * works.
 */
const STALLED_MS = 90_000;

export async function startReceiver(folder: string, mode: "count" | "watch" = "count"): Promise<Receiver> {
	const child = fork(join(import.meta.dirname, "receiver.ts"), [mode]);
	const [{ port, caPem }] = await once(child, "message");
	const caFile = join(mkdtempSync(join(folder, "receiver-")), "ca.pem");
	writeFileSync(caFile, caPem);
	const ask = async (question: string): Promise<ReceiverReport> => {
		const answered = once(child, "message");
		child.send(question);
		const [report] = await answered;
		return report;
	};
	const count = (): Promise<ReceiverReport> => ask("count");
	return {
		port,
		caFile,
		pid: child.pid ?? 0,
		url: (shop) => `https://127.0.0.1:${port}/shop/${shop}`,
		count,
		report: () => ask("report"),
		async forget() {
			await ask("forget");
		},
		async until(wanted, onProgress) {
			let said = performance.now();
			let movedAt = performance.now();
			for (let last = 0; ; ) {
				const { count: now } = await count();
				if (now >= wanted) return;
				if (now > last) movedAt = performance.now();
				if (performance.now() - movedAt > STALLED_MS) {
					throw new Error(`only ${now} of ${wanted} requests came, and no more`);
				}
				last = now;
				if (performance.now() - said > PROGRESS_MS) {
					said = performance.now();
					onProgress?.(now);
				}
				await sleep(LOOK_MS);
			}
		},
		async stop() {
			if (!child.connected) return;
			const gone = once(child, "exit");
			child.disconnect();
			await gone;
		},
	};
}
