// Tests the record of a finished request over real sockets.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, type TestContext, test } from "node:test";
import type { AnsweredRequest } from "#core/ports.ts";
import { until } from "../../test/support/until.ts";
import { listen, PUBLIC_LIMITS, type ServedApp } from "./http-server.ts";
import { createRandom } from "./random.ts";
import { type RecordedIncoming, readTraceId } from "./request-records.ts";

interface Recorded {
	url: string;
	answered: readonly AnsweredRequest[];
}

async function open(
	t: TestContext,
	answer: (incoming: RecordedIncoming | undefined) => Response | Promise<Response>,
): Promise<Recorded> {
	const answered: AnsweredRequest[] = [];
	const server = await listen({
		host: "127.0.0.1",
		port: 0,
		limits: PUBLIC_LIMITS,
		log: { info: () => undefined, warn: () => undefined, error: () => undefined },
		recording: {
			random: createRandom(),
			trustedProxies: [],
			onAnswered: (request) => answered.push(request),
		},
	});
	t.after(() => server.close());
	const fetch: ServedApp["fetch"] = (_request, env) => {
		const { incoming } = env as { incoming?: RecordedIncoming };
		return answer(incoming);
	};
	server.serve({ fetch });
	return { url: server.url, answered };
}

test("an answered request is reported with its id, status, size and noted fields", async (t) => {
	const { url, answered } = await open(t, (incoming) => {
		if (incoming?.record !== undefined) {
			incoming.record.route = "/things/:id";
			incoming.record.programme = "prg_1";
		}
		return new Response("x".repeat(1_000), { status: 202, headers: { "content-type": "text/plain" } });
	});
	const answer = await fetch(`${url}/things/7?token=secret`, { method: "POST", body: "hello" });
	equal((await answer.text()).length, 1_000);
	await until(() => answered.length === 1);
	const [request] = answered;
	const id = answer.headers.get("x-request-id") ?? "";
	match(id, /^[\da-f]{12}$/);
	const { headMs = -1, tookMs = -1, sentBytes = 0, findAddress, ...rest } = request ?? {};
	deepEqual(rest, {
		id,
		method: "POST",
		route: "/things/:id",
		programme: "prg_1",
		order: null,
		conversion: null,
		status: 202,
		traceId: null,
	});
	ok(headMs >= 0 && tookMs >= headMs, `${headMs} ${tookMs}`);
	ok(sentBytes > 1_000 && sentBytes < 1_500, `${sentBytes}`);
	equal(findAddress?.(), "127.0.0.1");
});

test("two requests on one connection have their own ids and sizes", async (t) => {
	const { url, answered } = await open(t, () => new Response("x".repeat(5_000)));
	for (let count = 0; count < 2; count++) await (await fetch(url)).text();
	await until(() => answered.length === 2);
	equal(new Set(answered.map(({ id }) => id)).size, 2);
	for (const { sentBytes } of answered) ok(sentBytes > 5_000 && sentBytes < 5_500, `${sentBytes}`);
});

test("a usable id of the caller is kept, and any other is replaced", async (t) => {
	const { url, answered } = await open(t, () => new Response("here"));
	const cases: readonly [given: string, isKept: boolean][] = [
		["01JD0Z4T2Q-req.7:a_b", true],
		["0af7651916cd43dd8448eb211c80319c", true],
		["short", false],
		["x".repeat(65), false],
		['quote"d-and-long', false],
		["with a space here", false],
	];
	for (const [given, isKept] of cases) {
		const answer = await fetch(url, { headers: { "x-request-id": given } });
		await answer.text();
		const id = answer.headers.get("x-request-id");
		equal(id === given, isKept, given);
		await until(() => answered.some((request) => request.id === id));
	}
});

test("a caller that goes away before the answer is reported without a status", async (t) => {
	const asked = Promise.withResolvers<void>();
	const { url, answered } = await open(t, () => {
		asked.resolve();
		return new Promise<Response>(() => undefined);
	});
	const socket = connect(Number(new URL(url).port), "127.0.0.1");
	await once(socket, "connect");
	socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
	await asked.promise;
	socket.destroy();
	await until(() => answered.length === 1);
	equal(answered[0]?.status, null);
	equal(answered[0]?.route, null);
});

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

describe("a traceparent", () => {
	const cases: readonly [text: string | undefined, traceId: string | null][] = [
		[`00-${TRACE_ID}-${SPAN_ID}-01`, TRACE_ID],
		[`00-${TRACE_ID}-${SPAN_ID}-00`, TRACE_ID],
		[`01-${TRACE_ID}-${SPAN_ID}-01-more`, TRACE_ID],
		[`ff-${TRACE_ID}-${SPAN_ID}-01`, null],
		[`00-${"0".repeat(32)}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-${"0".repeat(16)}-01`, null],
		[`00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-01`, null],
		["'; drop table traces", null],
		[undefined, null],
	];
	for (const [text, traceId] of cases) test(String(text), () => equal(readTraceId(text), traceId));
});
