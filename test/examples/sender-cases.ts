// Tests answers that a sender must not take for a recorded sale, because they do not come from the service.
// The sender must not follow a redirect either, because it would send the API key to another server.

import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { startHttpServer } from "../support/http-server.ts";
import type { ExampleFolder } from "./example-folder.ts";

interface FalseAnswer {
	title: string;
	status: number;
	type: string;
	body: string;
	isRedirect: boolean;
}

const PAGE = { type: "text/html; charset=utf-8", body: "<!doctype html><title>Welcome</title>" };
const RECORD = { type: "application/json", body: '{"outcome":"RECORDED","conversion":{}}' };

/**
 * Answers that are not a success. Clients differ in which redirects they follow, with which method and with
 * which headers.
 */
const FALSE_ANSWERS: readonly FalseAnswer[] = [
	...[302, 307].map((status) => ({
		title: `a ${status} to another host`,
		status,
		...PAGE,
		isRedirect: true,
	})),
	{ title: "a page with 200, as of a proxy or a host of that name", status: 200, ...PAGE, isRedirect: false },
	{ title: "a 202, which the service never gives", status: 202, ...RECORD, isRedirect: false },
];

const ARGS = ["ORDER-1001", "49.90"];
const SETTINGS = { RINGBACK_API_KEY: "a-key", RINGBACK_SIGNING_SECRET: "a-secret" };

export async function checkSender(t: TestContext, examples: ExampleFolder): Promise<void> {
	for (const { title, args, settings } of [
		{ title: "no API key", args: ARGS, settings: { ...SETTINGS, RINGBACK_API_KEY: "" } },
		{ title: "no secret", args: ARGS, settings: { RINGBACK_API_KEY: "a-key" } },
		{ title: "no amount", args: ["ORDER-1001"], settings: SETTINGS },
	]) {
		await t.test(`with ${title} the sender says in a line what to set, and sends no request`, async (t) => {
			const asked: string[] = [];
			const url = await startHttpServer(t, (request, response) => {
				asked.push(`${request.method} ${request.url}`);
				response.writeHead(200, { "Content-Type": RECORD.type }).end(RECORD.body);
			});
			const ended = await examples.runSender(args, { ...settings, RINGBACK_URL: url });
			deepEqual(asked, []);
			ok(ended.code === 1 || ended.code === 2, `ended with ${ended.code}`);
			equal(ended.stdout, "");
			match(ended.stderr, /^[^\n]*Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; [^\n]+\n$/);
		});
	}
	await t.test(
		"the sender sends the click ID and the coupon code if they are given, and otherwise neither field",
		async (t) => {
			const sent: string[] = [];
			const url = await startHttpServer(t, (request, response) => {
				let body = "";
				request.setEncoding("utf8").on("data", (piece) => {
					body += piece;
				});
				request.on("end", () => {
					sent.push(body);
					response.writeHead(201, { "Content-Type": RECORD.type }).end(RECORD.body);
				});
			});
			for (const more of [[], ["AV-_1"], ["AV-_1", 'SUMMER "10"']]) {
				await examples.runSender([...ARGS, ...more], { ...SETTINGS, RINGBACK_URL: url });
			}
			const sale = { orderId: "ORDER-1001", basketValue: "49.90" };
			const clicked = { ...sale, clickId: "AV-_1" };
			deepEqual(
				[...new Set(sent)].map((body) => JSON.parse(body)),
				[sale, clicked, { ...clicked, couponCode: 'SUMMER "10"' }],
			);
		},
	);
	for (const { title, status, type, body, isRedirect } of FALSE_ANSWERS) {
		await t.test(`${title} does not count as a success, and the sender asks no other server`, async (t) => {
			const askedElsewhere: string[] = [];
			const elsewhere = await startHttpServer(
				t,
				(request, response) => {
					askedElsewhere.push(`${request.method} ${request.url} ${request.headers.authorization}`);
					response.writeHead(200, { "Content-Type": RECORD.type }).end(RECORD.body);
				},
				"127.0.0.2",
			);
			const asked: string[] = [];
			const url = await startHttpServer(t, (request, response) => {
				asked.push(`${request.method} ${request.url}`);
				request.resume().on("end", () => {
					const location = isRedirect ? { Location: `${elsewhere}/v1/conversions` } : {};
					response.writeHead(status, { "Content-Type": type, ...location }).end(body);
				});
			});
			const ended = await examples.runSender(ARGS, { ...SETTINGS, RINGBACK_URL: url });
			deepEqual(askedElsewhere, []);
			deepEqual([...new Set(asked)], ["POST /v1/conversions"]);
			notEqual(ended.code, 0, ended.stdout);
			match(ended.stdout + ended.stderr, new RegExp(`${status}|redirect`), "it says what came");
		});
	}
}
