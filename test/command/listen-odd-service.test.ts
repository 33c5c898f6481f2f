// Tests `ringback listen` and `ringback trigger` against a server that misbehaves. Nothing hangs, no control
// character from the server reaches the terminal, requests are not repeated in a loop, and no stack is
// printed.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { RequestListener, ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { hasStack, openHome, type Running } from "../support/command-home.ts";
import { type Cleaning, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const EVENT = {
	event: "conversion.recorded",
	conversionId: "cnv_1",
	orderId: "o",
	programId: "prg_1",
	status: "RECORDED",
	eventType: "SALE",
	basketValue: "1.00",
	commission: "0.10",
	networkFee: "0.10",
	currency: "EUR",
	reason: null,
	test: true,
	occurredAt: "2026-01-01T00:00:00.000Z",
	sentAt: "2026-01-01T00:00:00.000Z",
};
const { event: _, conversionId: id, sentAt: createdAt, ...SALE } = EVENT;
const CONVERSION = {
	...SALE,
	...{ id, orderId: "1001", source: "test", createdAt, updatedAt: createdAt },
	...{ pixelBasketValue: null, refundedValue: "0.00", decidedBy: null, approvesAt: null, expiresAt: null },
};
const LISTENING = 'event: listening\nid: a\ndata: {"programId":"prg_1"}\n\n';

describe("the shop's commands against a server that misbehaves", { concurrency: 2 }, () => {
	test("Ctrl-C ends listen at once during a refusal whose body never ends", async (t) => {
		let asked = 0;
		const listening = await startListen(t, (_request, answer) => {
			asked++;
			answer.writeHead(500, { "content-type": "application/problem+json" }).write("{");
		});
		await until(() => asked === 1);
		const pressedAtMs = performance.now();
		listening.kill("SIGINT");
		equal((await listening.ended()).code, 0);
		// The limit is less than the ten seconds that listen waits for an answer.
		ok(performance.now() - pressedAtMs < 8_000);
	});

	test("text of a stream is shown without control characters, and a message that is not an event is reported and skipped", async (t) => {
		const odd = "\u001b[2J\u202e";
		const listening = await startListen(t, (_request, answer) => {
			const stream = openStream(answer);
			stream.write(`event: listening\nid: a\ndata: ${odd}not JSON\n\n`);
			stream.write(`event: \u4e2d\u0001\nid: b\ndata: ${JSON.stringify(EVENT)}\n\n`);
			stream.write(`event: ${odd}\nid: c\ndata: {"${odd}":1}\n\n`);
			const named = { ...EVENT, event: odd, orderId: `order ${odd}`, status: odd };
			stream.write(`event: conversion.recorded\nid: d\ndata: ${JSON.stringify(named)}\n\n`);
		});
		await listening.said(/order \\u\{1b\}\[2J\\u\{202e\}/);
		match(listening.stdout, /^Listening to this programme /);
		match(
			listening.stderr,
			/^The service sent something that is not an event: its name is "\u4e2d\\u\{1\}"\.$/m,
		);
		listening.kill("SIGINT");
		const ended = await listening.ended();
		deepEqual([ended.code, hasStack(ended)], [0, false]);
		checkPlain(ended);
	});

	test("if event streams end at once, listen reconnects at growing intervals and reports it once", async (t) => {
		for (const words of ["", `${LISTENING}id: b\n\n`]) {
			const askedAtMs: number[] = [];
			const listening = await startListen(t, (_request, answer) => {
				askedAtMs.push(performance.now());
				openStream(answer).end(words);
			});
			await listening.said(/^The stream ends as soon as it has begun/m);
			const saidAfter = askedAtMs.length;
			await until(() => askedAtMs.length >= saidAfter + 1);
			const pauses = askedAtMs.slice(1).map((atMs, at) => atMs - (askedAtMs[at] ?? 0));
			// A timer may be a millisecond early and a machine may be late, but a pause is never much shorter than
			// planned.
			for (const [at, pauseMs] of pauses.entries()) ok(pauseMs > 240 * 2 ** at, `${pauses}`);
			equal(listening.isRunning, true);
			listening.kill("SIGINT");
			const { stderr } = await listening.ended();
			equal(stderr.match(/as soon as it has begun/g)?.length, 1);
		}
	});

	test("if the service refuses the next stream, listen ends soon, even if reports are still to be sent", async (t) => {
		let streams = 0;
		let calls = 0;
		const listening = await startListen(t, (request, answer) => {
			if (request.method === "POST") {
				calls++;
				return answerJson(answer, { kept: 0 });
			}
			if (streams++ > 0) return void answer.writeHead(401).end();
			const stream = openStream(answer);
			stream.write(LISTENING);
			for (const conversionId of ["cnv_1", "cnv_2", "cnv_3"]) {
				const data = JSON.stringify({ ...EVENT, conversionId });
				stream.write(`event: conversion.recorded\nid: ${conversionId}\ndata: ${data}\n\n`);
			}
			stream.end();
		});
		await listening.said(/HTTP 401/);
		const saidAtMs = performance.now();
		equal((await listening.ended()).code, 1);
		// The limit is much less than the minute that listen waits for a service whose streams end at once.
		ok(performance.now() - saidAtMs < 30_000);
		ok(calls > 0);
	});

	test("trigger shows the service's answer without control characters", async (t) => {
		const odd = "REC\u001b[31m\u202e";
		const conversion = { ...CONVERSION, id: `cnv\u001b]0;owned\u0007`, status: odd };
		const running = await startCommand(
			t,
			["trigger", "conversion.recorded", "--order", "1001"],
			(request, answer) =>
				answerJson(answer, request.method === "GET" ? EMPTY_PAGE : { outcome: "RECORDED", conversion }),
		);
		const ended = await running.ended();
		deepEqual([ended.code, hasStack(ended)], [0, false], ended.stderr);
		match(ended.stdout, /1001 {2}REC\\u\{1b\}\[31m\\u\{202e\} {2}cnv\\u\{1b\}\]0;owned\\u\{7\}$/m);
		checkPlain(ended);
	});

	test("trigger stops if the recording is answered with a real conversion", async (t) => {
		const asked: string[] = [];
		const args = ["trigger", "conversion.reversed", "--order", "1001"];
		const running = await startCommand(t, args, (request, answer) => {
			asked.push(`${request.method} ${request.url?.replace(/\?.*/, "")}`);
			// This simulates that somebody else recorded the order between the look-up and the recording.
			const real = { ...CONVERSION, test: false };
			answerJson(answer, request.method === "GET" ? EMPTY_PAGE : { outcome: "DUPLICATE", conversion: real });
		});
		const ended = await running.ended();
		equal(ended.code, 1);
		match(ended.stderr, /^Order 1001 is a real conversion/);
		deepEqual(asked, ["GET /v1/conversions", "POST /v1/conversions"]);
	});
});

const EMPTY_PAGE = { conversions: [], nextCursor: null };

function startListen(t: Cleaning, handler: RequestListener): Promise<Running> {
	return startCommand(t, ["listen", "--to", "http://127.0.0.1:2/postback"], handler);
}

async function startCommand(
	t: Cleaning,
	args: readonly string[],
	handler: RequestListener,
): Promise<Running> {
	return openHome(t).startScript("receiver/src/command/main.ts", args, {
		RINGBACK_URL: await startHttpServer(t, handler),
		RINGBACK_API_KEY: "rbk_key",
		RINGBACK_SIGNING_SECRET: "rbs_secret",
	});
}

function openStream(answer: ServerResponse): ServerResponse {
	return answer.writeHead(200, { "content-type": "text/event-stream" });
}

function answerJson(answer: ServerResponse, json: object): void {
	answer.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
}

function checkPlain({ stdout, stderr }: { stdout: string; stderr: string }): void {
	ok(!/(?!\n)[\p{Cc}\p{Cf}]/u.test(stdout + stderr), JSON.stringify(stdout + stderr));
}
