import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import type { ProgrammeResult } from "../client/create-client.ts";
import { followProgramme } from "./click-terms.ts";
import { keepClick, readClick } from "./keep-click.ts";

const attributes = "Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax";
const programme = {
	id: "prg_1",
	name: "Hats",
	currency: "EUR",
	basketRule: "TOTAL",
	basketRuleText: "What the customer pays.",
	approvalDays: 30,
	creditsPartners: true,
	clickParameter: "ref",
	clickDays: 7,
} as const;

test("a page that is opened by a partner's link gets the cookie, and no other page does", () => {
	const { cookieFor } = keepClick();
	const pages: readonly (readonly [url: string, cookie: string, expected: string | undefined])[] = [
		["/?rbclick=AV-_1", "", `rbclick=AV-_1; ${attributes}`],
		["https://shop.example/hats?a=1&rbclick=AV2#top", "", `rbclick=AV2; ${attributes}`],
		["/?rbclick=AV2", "theme=dark; rbclick=AV1", `rbclick=AV1.AV2; ${attributes}`],
		["/?rbclick=AV3", "rbclick=AV1.AV2", `rbclick=AV2.AV3; ${attributes}`],
		["/?rbclick=AV2", "rbclick=AV1.AV2", `rbclick=AV1.AV2; ${attributes}`],
		["/?rbclick=AV1", "rbclick=AV1", `rbclick=AV1; ${attributes}`],
		["/", "rbclick=AV1", undefined],
		["/?rbclick=", "", undefined],
		["/?xrbclick=AV1", "", undefined],
		["/?rbclick=a%3B%20Path%3D%2Fx", "", undefined],
		["/?rbclick=a%0d%0aSet-Cookie:x", "", undefined],
		[`/?rbclick=${"x".repeat(200)}`, "", undefined],
	];
	for (const [url, cookie, expected] of pages) equal(cookieFor({ url, headers: { cookie } }), expected, url);
});

test("days, name and domain are those of the programme and the shop", () => {
	const { cookieFor } = keepClick({ days: 7, parameter: "ref", domain: "shop.example" });
	const headers = new Headers({ cookie: "rbclick=AV1; ref=AV0" });
	equal(
		cookieFor({ url: "/?ref=AV2&rbclick=AV3", headers }),
		"ref=AV0.AV2; Path=/; Domain=shop.example; Max-Age=604800; HttpOnly; Secure; SameSite=Lax",
	);
	equal(readClick({ headers }, { parameter: "ref" }), "AV0");
});

test("with a client the programme's own days and parameter apply, and the given ones until it answers", async () => {
	const answers = [Promise.withResolvers<ProgrammeResult>()];
	const client = { programme: () => answers[0]?.promise ?? Promise.reject(new Error("asked again")) };
	const keeper = keepClick({ client, days: 1 });
	const page = { url: "/?rbclick=AV1&ref=AV2", headers: {} };
	equal(keeper.cookieFor(page), "rbclick=AV1; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Lax");
	answers[0]?.resolve({ ok: true, attempts: 1, programme });
	await new Promise(setImmediate);
	equal(keeper.cookieFor(page), "ref=AV2; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax");
	equal(keeper.read("rbclick=AV1; ref=AV2"), "AV2");
});

test("the programme is asked once an hour, and again after a minute if that failed", async () => {
	let nowMs = 0;
	let asked = 0;
	const failure = { ok: false, kind: "unreachable", retryable: true, detail: "No.", attempts: 4 } as const;
	let result: ProgrammeResult = failure;
	const client = {
		async programme() {
			asked++;
			return result;
		},
	};
	const first = { parameter: "rbclick", days: 30 };
	const readTerms = followProgramme(client, first, () => nowMs);
	const readAt = async (atMs: number) => {
		nowMs = atMs;
		readTerms();
		await new Promise(setImmediate);
		return [asked, readTerms().parameter];
	};
	deepEqual(await readAt(1), [1, "rbclick"]);
	result = { ok: true, attempts: 1, programme };
	deepEqual(await readAt(59_999), [1, "rbclick"]);
	deepEqual(await readAt(60_001), [2, "ref"]);
	deepEqual(await readAt(3_600_000), [2, "ref"]);
	result = failure;
	deepEqual(await readAt(3_660_001), [3, "ref"], "the known terms stay in use");
});

test("the click ID is read from a request of any framework, or from the text of the cookies", () => {
	const cookie = "a=b; rbclick=AV1.AV2";
	deepEqual(
		[
			readClick(cookie),
			readClick({ headers: { cookie } }),
			readClick(new Request("https://shop.example/", { headers: { cookie } })),
			readClick({ url: "/x", originalUrl: "/shop/x?rbclick=AV3", headers: { cookie } }),
			readClick({ url: "/?rbclick=AV1", headers: {} }),
		],
		["AV1.AV2", "AV1.AV2", "AV1.AV2", "AV2.AV3", "AV1"],
	);
	const none = [
		null,
		undefined,
		"",
		"rbclick=",
		"rbclick",
		"myrbclick=AV1",
		'rbclick="AV1"',
		{ headers: {} },
	];
	for (const source of none) equal(readClick(source), undefined);
});

test("each middleware adds the cookie to those that the response has", async () => {
	const keeper = keepClick();
	const request = { url: "/?rbclick=AV1", headers: {} };
	const cookie = `rbclick=AV1; ${attributes}`;
	const calls: string[] = [];
	for (const before of [undefined, "a=b", ["a=b", "c=d"]]) {
		let value: number | string | readonly string[] | undefined = before;
		const response = {
			getHeader: () => value,
			setHeader: (_name: string, next: readonly string[]) => {
				value = next;
			},
		};
		keeper.node(request, response, () => calls.push("next"));
		deepEqual(value, [...[before ?? []].flat(), cookie]);
		keeper.node({ url: "/", headers: {} }, response);
	}
	deepEqual(calls, ["next", "next", "next"]);

	const set: unknown[] = [];
	await keeper.fastify(request, { header: (...more) => set.push(more) });
	const context = { req: { raw: request }, header: (...more: unknown[]) => void set.push(more) };
	await keeper.hono(context, async () => void set.push("the handler"));
	deepEqual(set, [["Set-Cookie", cookie], "the handler", ["Set-Cookie", cookie, { append: true }]]);
	const response = new Response(null, { headers: { "set-cookie": "a=b" } });
	equal(keeper.web(new Request("https://shop.example/?rbclick=AV1"), response), response);
	deepEqual(response.headers.getSetCookie(), ["a=b", cookie]);
});

test("an option that cannot work is refused at the start", () => {
	for (const days of [0, 366, 1.5, Number.NaN]) throws(() => keepClick({ days }), /days must be/);
	for (const parameter of ["", "a b", "a;b", "x".repeat(33)]) {
		throws(() => keepClick({ parameter }), /parameter must be/);
		throws(() => readClick("", { parameter }), /parameter must be/);
	}
	for (const domain of ["", "shop", "shop.example; Path=/x"])
		throws(() => keepClick({ domain }), /domain must be/);
});
