// Programs of a shop in strict TypeScript that are checked against the package's types but not run. A line
// after `@ts-expect-error` must be refused, because types that allow everything would pass otherwise.

export const WEB_CONSUMER = `
import {
	createClient, createMemoryStore, createNonceMemory, createReceiver, isKnownEvent, signRequest,
	verifyPostback, type KnownEvent, type LaterEvent, type NonceMemory, type PostbackEvent, type Receiver, type RefusalReason, type StoreEvent, type Verification,
} from "@ringback/receiver";

const setting: string | undefined = new URLSearchParams().get("secret") ?? undefined;
const store: StoreEvent = async (event) => (event.test ? "seen" : "stored");
const nonces: NonceMemory = { remember: (nonce: string, forMs: number) => nonce.length < forMs };

export const receiver: Receiver = createReceiver({
	secret: setting,
	onEvent: async (event) => {
		const amount: string = event.commission;
		// @ts-expect-error amounts are strings
		const rounded: number = event.commission;
		if (event.event === "conversion.approved") console.log(amount, rounded, event.reason?.length);
	},
	store,
	nonces,
	onRefused: ({ status, reason, detail }) => console.warn(status, reason, detail),
	onError: (error, event?: PostbackEvent) => console.error(error, event?.orderId),
});

export function describe(event: PostbackEvent): string {
	if (!isKnownEvent(event)) {
		const later: LaterEvent = event;
		// @ts-expect-error an event of a later version need not have a reason
		later.reason.length;
		return later.event + later.status;
	}
	switch (event.event) {
		case "conversion.recorded":
		case "conversion.approved":
			// @ts-expect-error a recorded or approved event usually has no reason
			event.reason.length;
			return event.orderId;
		case "conversion.rejected":
		case "conversion.reversed":
			return event.reason.toLowerCase();
		default:
			return event satisfies never;
	}
}

// A shop's own tests write events as literals.
export const sample: KnownEvent = {
	event: "conversion.rejected", conversionId: "cnv_1", orderId: "1001", programId: "prg_1", status: "REJECTED",
	eventType: "SALE", basketValue: "1.00", commission: "0.10", networkFee: "0.01", currency: "EUR", reason: "RETURN",
	test: false, occurredAt: "2026-01-01T00:00:00.000Z", sentAt: "2026-01-01T00:00:00.000Z",
};
// @ts-expect-error a rejection has a reason
export const unreasoned: KnownEvent = { ...sample, event: "conversion.rejected", reason: null };

export async function answer(request: Request): Promise<Response> {
	const response: Response = await receiver.fetch(request, { waitUntil: (promise: Promise<unknown>) => promise });
	const { answer, finish } = await receiver.receive({ method: "POST", path: "/", headers: {}, body: "" });
	const status: number = answer.status;
	await finish?.();
	return status === 204 ? response : new Response(answer.body, answer);
}

export async function check(request: Request): Promise<PostbackEvent | RefusalReason> {
	const rawBody = new Uint8Array(await request.arrayBuffer());
	const verified: Verification = await verifyPostback({
		path: "/", headers: request.headers, rawBody, secret: ["old", "new"], now: new Date(), nonces: createNonceMemory(),
	});
	// @ts-expect-error the event can be read only after ok was checked
	verified.event;
	return verified.ok ? verified.event : verified.reason;
}

export const unset = verifyPostback({ path: "/", headers: {}, rawBody: "", secret: setting });
// @ts-expect-error onEvent is required
createReceiver({ secret: "secret" });
// @ts-expect-error a parsed body is not the body as received
verifyPostback({ path: "/", headers: {}, rawBody: { event: "x" }, secret: "secret" });
// @ts-expect-error a store must return what it did
createReceiver({ secret: () => ["a", "b"], onEvent: () => undefined, store: () => undefined });
createReceiver({ secret: async () => setting, onEvent: console.log, store: createMemoryStore(), nonces: false });

export const signed: Promise<{ headers: Record<string, string> }> = signRequest({
	method: "GET", path: "/v1/conversions", secret: "secret", apiKey: "key",
});
export const client = createClient({ url: setting, apiKey: setting, secret: setting });
export async function report(): Promise<string> {
	const result = await client.record({ orderId: "1001", basketValue: "129.90" });
	if (result.ok) return result.conversion.id;
	if (result.code !== undefined) return result.field ?? String(result.status);
	// @ts-expect-error only a refusal by the service has a field
	result.field;
	return result.kind + (result.code ?? "") + result.detail;
}
`;

export const NODE_CONSUMER = `
import { createServer } from "node:http";
import { createReceiver } from "@ringback/receiver";
import { runCommand } from "@ringback/receiver/command";
import { createNodeReceiver } from "@ringback/receiver/node";
import known from "@ringback/receiver/vectors.json" with { type: "json" };

const options = { secret: process.env["RINGBACK_SIGNING_SECRET"], onEvent: console.log };
createServer(createReceiver(options).node);
createServer(createNodeReceiver(options));
createServer(createNodeReceiver(createReceiver(options)));
export const names: string[] = known.vectors.map(({ name }) => name);
export const run: (...args: never[]) => unknown = runCommand;
`;

export const FRAMEWORK_CONSUMER = `
import { createReceiver } from "@ringback/receiver";
import { createExpressReceiver } from "@ringback/receiver/express";
import { createFastifyReceiver } from "@ringback/receiver/fastify";
import { createHonoReceiver } from "@ringback/receiver/hono";
import { openPostgresStore, transaction } from "@ringback/receiver/postgres";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import pg from "pg";

const options = { secret: process.env["RINGBACK_SIGNING_SECRET"], onEvent: console.log };
const receiver = createReceiver(options);
express().use("/postback", createExpressReceiver(receiver));
Fastify().register(createFastifyReceiver({ url: "/postback", ...receiver }));
new Hono().all("/postback", createHonoReceiver(receiver));
express().use("/postback", createExpressReceiver(options)).post("/other", createExpressReceiver(options));
Fastify().register(createFastifyReceiver({ url: "/postback", ...options }), { prefix: "/hooks" });
new Hono().all("/postback", createHonoReceiver(options));

const pool = new pg.Pool();
export const store = openPostgresStore(pool);
export const count: Promise<number | null> = transaction(pool, async (connection: pg.PoolClient) => {
	await (await store).add(connection, { call: "approve", orderId: "1" });
	return (await connection.query("SELECT 1")).rowCount;
});
// @ts-expect-error a single client may be inside another transaction
openPostgresStore(new pg.Client());
`;

export const NEXT_CONSUMER = `
import { createReceiver } from "@ringback/receiver";
import { createNextReceiver } from "@ringback/receiver/next";
import { after, type NextRequest } from "next/server.js";

const options = { secret: process.env["RINGBACK_SIGNING_SECRET"], onEvent: console.log };
const receiver = createReceiver(options);
export const PUT: (request: NextRequest) => Promise<Response> = createNextReceiver({ ...receiver, after });
export const POST: (request: NextRequest) => Promise<Response> = createNextReceiver({ ...options, after });
`;

/** A program that uses every part of the package, in ES modules and in CommonJS. */
export const ENTRIES_CONSUMER = `
import { createClient, type CallFailure, type PostbackEvent } from "@ringback/receiver";
import { keepClick, readClick } from "@ringback/receiver/click";
import { createDurableReceiver, outranks, type DurableReceiver } from "@ringback/receiver/durable";
import { createExpressReceiver } from "@ringback/receiver/express";
import { createOutbox, type OutboxCall, type OutboxEntry, type OutboxProgress } from "@ringback/receiver/outbox";
import { openPostgresStore, type PostgresPool, transaction as postgresTransaction } from "@ringback/receiver/postgres";
import { reconcile, type ShopOrder } from "@ringback/receiver/reconcile";
import { openSqliteStore, transaction } from "@ringback/receiver/sqlite";
import { createFakeService, exampleEvent, signCallback } from "@ringback/receiver/testing";
import type { DatabaseSync } from "node:sqlite";

const service = createFakeService({ secret: ["rbs_new", "rbs_old"] });
const client = createClient({ ...service.clientOptions, secret: async () => ["rbs_new", "rbs_old"] });
const rows: OutboxEntry[] = [];

export const outbox = createOutbox({
	client,
	load: async (afterId, limit) => rows.filter(({ id }) => id > afterId).slice(0, limit),
	save(entry, progress: OutboxProgress) {
		switch (progress.state) {
			case "done":
				return console.log(entry.id, progress.conversion.commission, progress.credit);
			case "open":
				return console.log(progress.attempts, progress.dueAtMs, progress.detail);
			case "refused":
				return console.log(progress.code);
		}
	},
	onProblem: (problem) => console.error(problem.kind),
});
export const calls: OutboxCall[] = [
	{ call: "record", orderId: "1", basketValue: "1.00", occurredAt: new Date(), couponCodes: ["A", "B"] },
	{ call: "refund", orderId: "1", refundId: "R", amount: "0.50", reason: "RETURN" },
	// @ts-expect-error a reversal needs a reason
	{ call: "reverse", orderId: "1" },
	// @ts-expect-error amounts are strings
	{ call: "record", orderId: "1", basketValue: 1 },
];

export const receiver: DurableReceiver = createDurableReceiver({
	secret: "rbs_new,rbs_old",
	insert: async (event) => (event.test ? "seen" : "stored"),
	listOpen: async (limit): Promise<PostbackEvent[]> => [exampleEvent()].slice(0, limit),
	markDone: async () => undefined,
	onEvent: (event) => outranks(event.status, "RECORDED"),
});
export const middleware = createExpressReceiver(receiver);

export function openStores(database: DatabaseSync): number {
	const store = openSqliteStore(database, { onAnswer: ({ status }, credit) => console.log(status, credit?.length) });
	createOutbox({ client, ...store.outbox });
	createDurableReceiver({ secret: "rbs_new", ...store.callbacks, onEvent: console.log });
	// @ts-expect-error a reversal needs a reason
	store.add({ call: "reverse", orderId: "1" });
	return transaction(database, () => 1);
}

export async function openPool(pool: PostgresPool): Promise<string> {
	const store = await openPostgresStore(pool);
	createOutbox({ client, ...store.outbox });
	return postgresTransaction(pool, async (connection) => {
		await store.add(connection, { call: "approve", orderId: "1" });
		return "done";
	});
}
export const keeper = keepClick({ days: 30, domain: "shop.example" });
export const clickId: string | undefined = readClick("rbclick=AV1");

export async function compare(orders: readonly ShopOrder[]): Promise<number> {
	const result = await reconcile({ client, orders, since: "2026-03-01" });
	if (!result.ok) return result.attempts;
	return result.differences.filter((one) => one.kind === "differs" && one.fields.includes("status")).length;
}

export function mustKeep(failure: CallFailure): boolean {
	if (failure.kind === "misconfigured") console.error(failure.code, failure.detail);
	// @ts-expect-error there is no such kind
	if (failure.kind === "misconfigurated") return false;
	return failure.retryable;
}

export async function callback(): Promise<string> {
	const { path, headers, body } = await signCallback(exampleEvent({ orderId: "7" }), { secret: "rbs_new" });
	return path + headers["X-Service-Signature"] + body;
}
`;
