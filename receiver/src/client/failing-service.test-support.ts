// A real HTTP server for tests, which fails in given ways, one answer after the other. It refuses requests
// with a wrong signature or a repeated nonce.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { TestContext } from "node:test";

export const apiKey = "rbk_0123456789abcdef";
export const secret = "signing-secret-of-the-tests";

export type PlannedAnswer =
	| {
			readonly status: number;
			readonly body?: string | object;
			readonly headers?: Readonly<Record<string, string>>;
			/** True to omit the headers that Node adds by itself. */
			readonly withoutDate?: boolean;
	  }
	/** Closes the connection without an answer. */
	| "cut"
	/** Closes the connection in the middle of an answer with the status 200. */
	| "cut_in_body"
	/** Accepts the request and never answers. */
	| "hang"
	/** Starts an answer with the status 200 and never continues it. */
	| "hang_in_body"
	/** Sends an answer with the status 200 whose body never ends. */
	| "endless"
	/** Sends something that is not HTTP. */
	| "garbage";

export type SeenRequest = {
	readonly method: string;
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
	readonly arrivedAtMs: number;
	/** Resolves when the answer has been sent or the client has disconnected. */
	readonly over: Promise<unknown>;
};

export type FailingService = {
	readonly url: string;
	readonly requests: readonly SeenRequest[];
};

export const sampleConversion = {
	id: "cnv_01HX3Y7R2K",
	orderId: "A-1001",
	programId: "prg_01HX3Y0001",
	status: "RECORDED",
	eventType: "SALE",
	basketValue: "129.90",
	commission: "10.39",
	networkFee: "2.60",
	currency: "EUR",
	reason: null,
	test: false,
	source: "postback",
	pixelBasketValue: null,
	refundedValue: "0.00",
	decidedBy: null,
	occurredAt: "2025-12-31T23:58:41.120Z",
	createdAt: "2026-01-01T00:00:00.000Z",
	updatedAt: "2026-01-01T00:00:00.000Z",
	approvesAt: "2026-01-31T00:00:00.000Z",
	expiresAt: null,
};

export const sampleRefund = {
	refundId: "R-1",
	amount: "30.00",
	basketValue: "99.90",
	reason: "RETURN",
	refundedAt: "2026-01-02T00:00:00.000Z",
};

export const recorded = {
	status: 201,
	body: { outcome: "RECORDED", conversion: sampleConversion },
} as const;

/**
 * Starts the server. The last answer in the list is used for all further requests. All connections are closed
 * after the test.
 */
export async function startFailingService(
	t: TestContext,
	...answers: readonly PlannedAnswer[]
): Promise<FailingService> {
	const requests: SeenRequest[] = [];
	const wrong: string[] = [];
	const server = createServer((request, response) => {
		take(request, response).catch((error: unknown) => {
			// Some tests have clients that disconnect before their body is read, which is not an error.
			if (!request.destroyed) wrong.push(String(error));
		});
	});
	// Clients in these tests disconnect early, so errors of their connections are expected.
	server.on("connection", (socket) => socket.on("error", () => undefined));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	t.after(async () => {
		await new Promise<void>((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
		assert.deepEqual(wrong, []);
	});

	async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const arrivedAtMs = performance.now();
		const over = once(response, "close");
		const body = Buffer.concat(await request.toArray()).toString("utf8");
		const headers = Object.fromEntries(
			Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
		);
		const seen = { method: request.method ?? "", path: request.url ?? "", headers, body, arrivedAtMs, over };
		const problem = findFault(seen, requests);
		if (problem !== undefined) wrong.push(problem);
		requests.push(seen);
		const answer = answers[Math.min(requests.length, answers.length) - 1];
		assert.ok(answer !== undefined);
		send(answer, response);
	}

	const address = server.address();
	assert.ok(typeof address === "object" && address !== null);
	return { url: `http://127.0.0.1:${address.port}`, requests };
}

function findFault(
	{ method, path, headers, body }: SeenRequest,
	before: readonly SeenRequest[],
): string | undefined {
	const brand = headers["x-acme-nonce"] === undefined ? "service" : "acme";
	const timestamp = headers[`x-${brand}-timestamp`];
	const nonce = headers[`x-${brand}-nonce`];
	const digest = createHash("sha256").update(body).digest("hex");
	const canonical = [method, path, timestamp, nonce, digest].join("\n");
	if (headers["authorization"] !== `Bearer ${apiKey}`) return "the key is not there";
	if (before.some((other) => other.headers[`x-${brand}-nonce`] === nonce)) return "a nonce came twice";
	const signature = createHmac("sha256", secret).update(canonical).digest("hex");
	return headers[`x-${brand}-signature`] === signature ? undefined : "a signature is wrong";
}

function send(answer: PlannedAnswer, response: ServerResponse): void {
	if (typeof answer === "object") {
		if (answer.withoutDate) response.sendDate = false;
		const text = typeof answer.body === "object" ? JSON.stringify(answer.body) : answer.body;
		response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers }).end(text);
		return;
	}
	switch (answer) {
		case "cut":
			response.socket?.destroy();
			return;
		case "cut_in_body":
			response.writeHead(200, { "content-length": "1000" });
			response.write('{"outcome":', () => response.socket?.destroy());
			return;
		case "hang":
			return;
		case "hang_in_body":
			response.writeHead(200, { "content-length": "1000" }).write('{"outcome":');
			return;
		case "endless":
			response.writeHead(200, { "content-type": "application/json" });
			writeOn(response);
			return;
		case "garbage":
			response.socket?.end("SSH-2.0-OpenSSH_9.9\r\n");
			return;
		default:
			answer satisfies never;
	}
}

function writeOn(response: ServerResponse): void {
	if (response.destroyed) return;
	response.write(" ".repeat(65_536), () => setImmediate(() => writeOn(response)));
}
