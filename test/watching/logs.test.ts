// Tests the access log of a running service: what a line contains, and what it must never contain.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import { listInboundCalls } from "#core/store/queries/inbound-calls.ts";
import { openService } from "../support/open-service.ts";
import { openAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

const SETTINGS = { RINGBACK_ACCESS_LOG: "on", RINGBACK_TRUSTED_PROXIES: "127.0.0.1", RINGBACK_ROLE: "web" };
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

test("a line of the access log has ids, route, status, time, bytes and caller, and never path, query, cookie or body", async (t) => {
	const { service, log, close } = await openService({ settings: SETTINGS });
	t.after(close);
	const lines = () => log.lines.filter(({ message }) => message === "request").map(({ fields }) => fields);
	const ask = async (path: string, init: RequestInit = {}) => {
		const before = lines().length;
		const answer = await fetch(service.url + path, { redirect: "manual", ...init });
		await answer.arrayBuffer();
		await until(() => lines().length > before);
		return { answer, line: (lines().at(-1) ?? {}) as Record<string, unknown> };
	};

	const { answer, line } = await ask("/welcome/secret-token?next=secret-query", {
		headers: {
			"x-request-id": "from-the-proxy-1",
			"x-forwarded-for": "203.0.113.9",
			cookie: "a=secret-cookie",
			traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`,
		},
	});
	const { ms, bytes, ...rest } = line;
	deepEqual(rest, {
		requestId: "from-the-proxy-1",
		traceId: TRACE_ID,
		method: "GET",
		route: "/welcome/:token",
		status: 410,
		programme: null,
		address: "203.0.113.9",
	});
	equal(answer.headers.get("x-request-id"), "from-the-proxy-1");
	ok(typeof ms === "number" && ms >= 0 && typeof bytes === "number" && bytes > 500, JSON.stringify(line));

	const post = await ask("/sign-in", {
		method: "POST",
		headers: { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` },
		body: new URLSearchParams({ password: "secret-body" }),
	});
	match(String(post.line["requestId"]), /^[\da-f]{12}$/);
	equal(post.answer.headers.get("x-request-id"), post.line["requestId"]);
	ok(!("traceId" in post.line), "an id of zeros is not a trace id");
	equal(
		(await ask("/v1/conversions?secret-query", { method: "POST", body: "secret-body" })).line["status"],
		401,
	);
	equal((await ask("/secret-path")).line["route"], null);
	ok(!/secret-/.test(log.text()), "no secret is in the log");
});

test("the request id of a sale leads to its order and conversion, in the access log and in the inbound log", async (t) => {
	const { service, log, close } = await openService({ settings: SETTINGS });
	t.after(close);
	const { apiKey: key, secret, programme } = await openAccount(service);
	const report = async (orderId: string, basketValue: string, signingSecret = secret) => {
		const body = JSON.stringify({ orderId, basketValue });
		const path = "/v1/conversions";
		const { headers } = signedRequest(
			"POST",
			path,
			{ key, secret: signingSecret },
			{ nowMs: Date.now(), body },
		);
		const answer = await fetch(service.url + path, { method: "POST", headers, body });
		const { conversion } = (await answer.json()) as { conversion?: { id: string } };
		return { conversionId: conversion?.id, requestId: answer.headers.get("x-request-id") ?? "" };
	};
	const recorded = await report("A-1", "10.00");
	const refused = await report("A-2", "10,0,0");
	await report("A-3", "10.00");
	const lineOf = (requestId: string) =>
		log.lines.find(({ fields }) => "requestId" in fields && fields.requestId === requestId)?.fields ?? {};
	await until(() => "order" in lineOf(refused.requestId));
	const { order, conversion } = lineOf(recorded.requestId) as Record<string, unknown>;
	deepEqual([order, conversion], ["A-1", recorded.conversionId]);
	const { order: refusedOrder, ...rest } = lineOf(refused.requestId) as Record<string, unknown>;
	equal(refusedOrder, "A-2");
	ok(!("conversion" in rest));

	const find = async (requestId: string) => {
		const filter = { programmeId: programme.id, requestId, after: undefined, limit: 25 };
		const { rows } = await listInboundCalls(service.store.reader, filter);
		return rows.map(({ orderId, conversionId, outcome }) => [orderId, conversionId, outcome]);
	};
	const badly = await report("A-4", "10.00", `rbs_${"0".repeat(64)}`);
	await until(() => "programme" in lineOf(badly.requestId));
	const { programme: named, status } = lineOf(badly.requestId) as Record<string, unknown>;
	deepEqual(
		[named, status],
		[programme.public_id, 401],
		"a bad signature with a known key names the programme",
	);

	deepEqual(await find(recorded.requestId), [["A-1", recorded.conversionId, "RECORDED"]]);
	deepEqual(await find(refused.requestId), [["A-2", null, "malformed_amount"]]);
	deepEqual(await find("another-id-12"), []);
});

/** Uses a new connection for each request, because the service is stopped in between. */
async function askOnce(url: string, method: string): Promise<number | undefined> {
	const [answer] = (await once(request(url, { method, agent: false }).end(), "response")) as [
		IncomingMessage,
	];
	answer.resume();
	await once(answer, "end");
	return answer.statusCode;
}

test("successful health checks are not logged, and without the setting no request is", async (t) => {
	const opened = await openService({ settings: SETTINGS });
	t.after(opened.close);
	const lines = () => opened.log.lines.filter(({ message }) => message === "request").length;
	equal(await askOnce(`${opened.service.url}/healthz`, "GET"), 200);
	equal(await askOnce(`${opened.service.url}/healthz`, "POST"), 405);
	await until(() => lines() === 1);
	await opened.stop();
	await opened.start({ RINGBACK_ROLE: "web" });
	equal(await askOnce(`${opened.service.url}/sign-in`, "GET"), 200);
	await opened.stop();
	equal(lines(), 1);
});
