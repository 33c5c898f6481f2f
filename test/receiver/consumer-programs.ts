// Programs of a shop in strict TypeScript, to be checked against the package's types and run by nobody. A line
// after `@ts-expect-error` must be refused: types that let everything through would pass otherwise.

export const WEB_CONSUMER = `
import {
	createClient, createMemoryStore, createNonceMemory, createReceiver, signRequest, verifyPostback,
	type NonceMemory, type PostbackEvent, type Receiver, type RefusalReason, type StoreEvent, type Verification,
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
	// @ts-expect-error there is no event before ok was asked for
	verified.event;
	return verified.ok ? verified.event : verified.reason;
}

// @ts-expect-error the work is not optional
createReceiver({ secret: "secret" });
// @ts-expect-error a parsed body is not the body as received
verifyPostback({ path: "/", headers: {}, rawBody: { event: "x" }, secret: "secret" });
// @ts-expect-error a store says what it did
createReceiver({ secret: () => ["a", "b"], onEvent: () => undefined, store: () => undefined });
createReceiver({ secret: async () => setting, onEvent: console.log, store: createMemoryStore(), nonces: false });

export const signed: Promise<{ headers: Record<string, string> }> = signRequest({
	method: "GET", path: "/v1/conversions", secret: "secret", apiKey: "key",
});
export const client = createClient({ url: "https://ringback.example", apiKey: "key", secret: "secret" });
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
export const names: string[] = known.vectors.map(({ name }) => name);
export const run: (...args: never[]) => unknown = runCommand;
`;

export const FRAMEWORK_CONSUMER = `
import { createExpressReceiver } from "@ringback/receiver/express";
import { createFastifyReceiver } from "@ringback/receiver/fastify";
import { createHonoReceiver } from "@ringback/receiver/hono";
import { createNextReceiver } from "@ringback/receiver/next";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { after, type NextRequest } from "next/server.js";

const options = { secret: process.env["RINGBACK_SIGNING_SECRET"], onEvent: console.log };
express().use("/postback", createExpressReceiver(options)).post("/other", createExpressReceiver(options));
Fastify().register(createFastifyReceiver({ url: "/postback", ...options }), { prefix: "/hooks" });
new Hono().all("/postback", createHonoReceiver(options));
export const POST: (request: NextRequest) => Promise<Response> = createNextReceiver({ ...options, after });
`;
