// Tests answers that a sender must not take for a recorded sale, because they do not come from the service.
// The sender must not follow a redirect either, because it would send the API key to another server.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { startHttpServer } from "../support/http-server.ts";
import { freePort } from "../support/postgres.ts";
import { isLong } from "../support/proof.ts";
import { sha256, sign } from "./callback.ts";
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

const PROBLEM_TYPE = "application/problem+json";
/** Answers, and the exit code that says what to do with the sale. */
const EXIT_CODES = [
	{ title: "a 401 means a wrong setting, and the sale is kept", status: 401, type: PROBLEM_TYPE, code: 78 },
	{ title: "a 422 refuses the sale", status: 422, type: PROBLEM_TYPE, code: 1 },
	{ title: "a 503 asks to run the sender again", status: 503, type: PROBLEM_TYPE, code: 75 },
	{
		title: "a 403 that is not of the API, such as a page of a proxy, says nothing about the sale",
		status: 403,
		type: PAGE.type,
		code: 75,
	},
] as const;

const ARGS = ["ORDER-1001", "49.90"];
const SETTINGS = { RINGBACK_API_KEY: "a-key", RINGBACK_SIGNING_SECRET: "a-secret" };

/** Returns an address at which nothing listens. */
async function findClosedAddress(): Promise<string> {
	return `http://127.0.0.1:${await freePort()}`;
}

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
			// A queue drops a sale after the exit code 1, which says that the service has refused it.
			equal(ended.code, 2);
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
	await t.test(
		"the sender keeps the sale if the key or the address is malformed, or if no HTTP answer comes",
		async (t) => {
			const url = await startHttpServer(t, ({ socket }) => socket.end("220 mail.shop.example ESMTP\r\n"));
			for (const wrong of [
				{ RINGBACK_API_KEY: "a-key\n" },
				{ RINGBACK_URL: "ringback.example" },
				{ RINGBACK_URL: "http://not an address" },
				// The Node client tries again for some seconds, which a short run does not wait for.
				...(isLong ? [{ RINGBACK_URL: url }, { RINGBACK_URL: await findClosedAddress() }] : []),
			]) {
				const ended = await examples.runSender(ARGS, { ...SETTINGS, RINGBACK_URL: url, ...wrong });
				const said = `${JSON.stringify(wrong)}: ${ended.code}, ${ended.stdout}${ended.stderr}`;
				ok([2, 75, 78].includes(ended.code ?? -1), said);
				doesNotMatch(ended.stderr, /^\s+at |Traceback|Exception in thread|Unhandled Exception/m, said);
			}
		},
	);
	for (const { title, status, type, code } of EXIT_CODES) {
		await t.test(`the sender's exit code is ${code}: ${title}`, async (t) => {
			const url = await startHttpServer(t, (request, response) => {
				request.resume().on("end", () => {
					const problem = { code: status === 401 ? "bad_signature" : "made_up", status, detail: "Made up." };
					// The Node client would otherwise try again for some seconds.
					const headers = { "Content-Type": type, "Retry-After": "60" };
					response.writeHead(status, headers).end(type === PAGE.type ? PAGE.body : JSON.stringify(problem));
				});
			});
			const ended = await examples.runSender(ARGS, { ...SETTINGS, RINGBACK_URL: url });
			equal(ended.code, code, ended.stdout + ended.stderr);
		});
	}
	await t.test(
		"a secret with a line break is refused at the start, and a second secret does not sign",
		async (t) => {
			const signatures: unknown[] = [];
			const url = await startHttpServer(t, (request, response) => {
				const { "x-service-timestamp": timestamp, "x-service-nonce": nonce } = request.headers;
				let body = "";
				request.setEncoding("utf8").on("data", (piece) => {
					body += piece;
				});
				request.on("end", () => {
					const parts = [
						"POST",
						"/v1/conversions",
						String(timestamp),
						String(nonce),
						sha256(Buffer.from(body)),
					];
					signatures.push([request.headers["x-service-signature"], sign("new-secret", parts)]);
					response.writeHead(201, { "Content-Type": RECORD.type }).end(RECORD.body);
				});
			});
			const withSecret = (RINGBACK_SIGNING_SECRET: string) =>
				examples.runSender(ARGS, { ...SETTINGS, RINGBACK_URL: url, RINGBACK_SIGNING_SECRET });
			const refused = await withSecret("new-secret\n,old-secret");
			deepEqual(signatures, []);
			equal(refused.code, 2);
			match(refused.stderr, /line break|white space/);
			await withSecret("new-secret,old-secret");
			deepEqual(
				signatures.map((pair) => Array.isArray(pair) && pair[0] === pair[1]),
				[true],
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
			equal(ended.code, isRedirect ? 78 : 75, ended.stdout);
			match(ended.stdout + ended.stderr, new RegExp(`${status}|redirect`), "it says what came");
		});
	}
}
