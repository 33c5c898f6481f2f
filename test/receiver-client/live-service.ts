// The whole service as it runs in earnest, on a SQLite file and by the real clock, with one shop's programme.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type Client, type ClientOptions, createClient } from "@ringback/receiver";
import { readConfig } from "../../src/config.ts";
import { type Service, startService } from "../../src/service.ts";
import { openAccount, type ShopAccount } from "../command/shop-account.ts";

export interface LiveService {
	readonly service: Service;
	readonly account: ShopAccount;
	/** Of this shop, unless told otherwise. */
	createClient(options?: Partial<ClientOptions>): Client;
	/** What there is of it in the store, whatever anybody was answered. */
	countRows(orderId: string): Promise<{ conversions: number; moves: number }>;
	/** Codes and outcomes of the calls that came in, the latest last. */
	inboundOutcomes(): Promise<readonly string[]>;
	/** As the process does when it is told to end. What is stored stays. */
	stop(): Promise<void>;
	/** On the same port, over the same file. */
	startAgain(): Promise<void>;
}

/** For a whole test file; stopped, and its folder removed, after the last test. */
export async function startLiveService(
	settings: Readonly<Record<string, string>> = {},
): Promise<LiveService> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-client-"));
	const start = (port: string): Promise<Service> => {
		const read = readConfig({
			DATABASE_URL: `sqlite:${join(folder, "ringback.db")}`,
			PORT: port,
			RINGBACK_METRICS_ADDRESS: "off",
			LOG_LEVEL: "silent",
			...settings,
		});
		if (!read.ok) throw new Error(read.problems.join(" "));
		return startService(read.config);
	};
	let service = await start("0");
	const { port } = new URL(service.url);
	const account = await openAccount(service, {});
	let isStopped = false;
	const stop = async (): Promise<void> => {
		if (!isStopped) await service.stop();
		isStopped = true;
	};
	after(async () => {
		await stop();
		rmSync(folder, { recursive: true });
	});
	return {
		get service() {
			return service;
		},
		account,
		createClient: (options = {}) =>
			createClient({ url: service.url, apiKey: account.apiKey, secret: account.secret, ...options }),
		async countRows(orderId) {
			const { db } = service.store;
			const ids = db.selectFrom("conversions").select("id").where("order_id", "=", orderId);
			const rows = await ids.execute();
			const moves = await db.selectFrom("moves").select("id").where("conversion_id", "in", ids).execute();
			return { conversions: rows.length, moves: moves.length };
		},
		async inboundOutcomes() {
			const { db } = service.store;
			const rows = await db.selectFrom("inbound_calls").select("outcome").orderBy("id").execute();
			return rows.map(({ outcome }) => outcome);
		},
		stop,
		async startAgain() {
			service = await start(port);
			isStopped = false;
		},
	};
}
