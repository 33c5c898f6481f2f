// The whole service as in production, on a SQLite file and with the real clock, with one shop's programme.

import { after } from "node:test";
import { type Client, type ClientOptions, createClient } from "@ringback/receiver";
import type { Service } from "../../src/service.ts";
import { openService } from "../support/open-service.ts";
import { openAccount, type ShopAccount } from "../support/shop-account.ts";

export interface LiveService {
	readonly service: Service;
	readonly account: ShopAccount;
	/** Creates a client of this shop; `options` override its settings. */
	createClient(options?: Partial<ClientOptions>): Client;
	/** Counts what the store contains, whatever callers were answered. */
	countRows(orderId: string): Promise<{ conversions: number; moves: number }>;
	/** Returns the codes and outcomes of incoming calls, the latest last. */
	inboundOutcomes(): Promise<readonly string[]>;
	/** Stops the service as a signal does. Stored rows stay. */
	stop(): Promise<void>;
	/** Starts it again on the same port and file. */
	startAgain(): Promise<void>;
}

/** Starts a service for a whole test file. It is stopped and its folder removed after the last test. */
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
