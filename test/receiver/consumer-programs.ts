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
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";

const options = { secret: process.env["RINGBACK_SIGNING_SECRET"], onEvent: console.log };
const receiver = createReceiver(options);
express().use("/postback", createExpressReceiver(receiver));
Fastify().register(createFastifyReceiver({ url: "/postback", ...receiver }));
new Hono().all("/postback", createHonoReceiver(receiver));
express().use("/postback", createExpressReceiver(options)).post("/other", createExpressReceiver(options));
Fastify().register(createFastifyReceiver({ url: "/postback", ...options }), { prefix: "/hooks" });
new Hono().all("/postback", createHonoReceiver(options));
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
