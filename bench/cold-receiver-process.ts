// Starts the process that plays many shops with a host name of their own, and reads its counts.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface ColdOpened {
	/** Postback URL of each shop. */
	urls: readonly string[];
	/** Address of the name server, as a value for RINGBACK_DNS_SERVERS. */
	nameServer: string;
	caPem: string;
}

export interface ColdReport {
	/** Number of requests that have arrived. */
	count: number;
	firstAtMs: number;
	lastAtMs: number;
	/** Number of connections whose handshake was completed. */
	connections: number;
	/** Number of connections that resumed a TLS session. */
	resumed: number;
}

export interface ColdReceiver extends Omit<ColdOpened, "caPem"> {
	caFile: string;
	report(): Promise<ColdReport>;
	forget(): Promise<void>;
	/** Resolves when this many requests have arrived, and fails if none arrives for a long time. */
	until(count: number): Promise<ColdReport>;
	stop(): Promise<void>;
}

const LOOK_MS = 20;
/** Time without a request after which a run counts as stalled. */
const STALLED_MS = 90_000;

export async function startColdReceiver(folder: string, hosts: number): Promise<ColdReceiver> {
	const child = fork(join(import.meta.dirname, "cold-receiver.ts"), [String(hosts)]);
	const [opened]: ColdOpened[] = await once(child, "message");
	if (opened === undefined) throw new Error("the receiver did not start");
	const { urls, nameServer, caPem } = opened;
	const caFile = join(mkdtempSync(join(folder, "receiver-")), "ca.pem");
	writeFileSync(caFile, caPem);
	const ask = async (question: string): Promise<ColdReport> => {
		const answered = once(child, "message");
		child.send(question);
		const [report] = await answered;
		return report;
	};
	return {
		urls,
		nameServer,
		caFile,
		report: () => ask("report"),
		async forget() {
			await ask("forget");
		},
		async until(wanted) {
			let movedAt = performance.now();
			for (let last = 0; ; ) {
				const report = await ask("report");
				if (report.count >= wanted) return report;
				if (report.count > last) movedAt = performance.now();
				if (performance.now() - movedAt > STALLED_MS)
					throw new Error(`only ${report.count} of ${wanted} requests came, and no more`);
				last = report.count;
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
