// The whole service as it runs in earnest, on a SQLite file and by the real clock, with one shop's programme.

import { after } from "node:test";
import { type Client, type ClientOptions, createClient } from "@ringback/receiver";
import type { Service } from "../../src/service.ts";
import { openService } from "../support/open-service.ts";
import { openAccount, type ShopAccount } from "../support/shop-account.ts";

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
export async function startLiveService(): Promise<LiveService> {
	const opened = await openService();
	after(opened.close);
	const { url } = opened.service;
	const account = await openAccount(opened.service);
	return {
		get service() {
			return opened.service;
		},
		account,
		createClient: (options = {}) =>
			createClient({ url, apiKey: account.apiKey, secret: account.secret, ...options }),
		async countRows(orderId) {
			const { db } = opened.service.store;
			const ids = db.selectFrom("conversions").select("id").where("order_id", "=", orderId);
			const rows = await ids.execute();
			const moves = await db.selectFrom("moves").select("id").where("conversion_id", "in", ids).execute();
			return { conversions: rows.length, moves: moves.length };
		},
		async inboundOutcomes() {
			const { db } = opened.service.store;
			const rows = await db.selectFrom("inbound_calls").select("outcome").orderBy("id").execute();
			return rows.map(({ outcome }) => outcome);
		},
		stop: opened.stop,
		async startAgain() {
			await opened.start();
		},
	};
}
