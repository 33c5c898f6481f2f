// Tests that the OpenAPI document is valid and complete, is generated for the installation that serves it,
// and has correct examples.

import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { describe, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { AppDeps } from "#core/api/deps.ts";
import { describeApi } from "#core/api/openapi/document.ts";
import { EXAMPLE_SECRET } from "#core/api/openapi/examples.ts";
import type { JsonSchema, MediaType, OpenApiDocument, Operation } from "#core/api/openapi/specification.ts";
import { meaningOf } from "#core/api/openapi/webhooks.ts";
import { openTestShop, type TestShop } from "#core/api/test-shop.test-support.ts";
import { createNetworkTallies } from "#core/conversions/tally.ts";
import { createAuth } from "#core/people/auth.ts";
import { createNetworkCache } from "#core/store/network-cache.ts";
import { createSite } from "#core/web/site.ts";
import { createSubTotals } from "#modules/partners/use-cases/sub-totals.ts";
import { createApp } from "../../src/app.ts";
import { createAdmission } from "../../src/concurrency/admission.ts";
import { API, SITE_LISTS } from "../../src/site-modules.ts";
import { DescribedApi, responseFor } from "./described-api.ts";

const document = describeApi({ brand: "Service", publicUrl: "https://ringback.example" }, API);
const api = new DescribedApi(document);

async function readDocument(shop: Pick<TestShop, "request">): Promise<OpenApiDocument> {
	return JSON.parse(await (await shop.request("/openapi.json")).text());
}

function operations({ paths, webhooks }: OpenApiDocument): Operation[] {
	const calls = Object.values(paths).flatMap((item) => Object.values(item));
	return [...calls, ...Object.values(webhooks).flatMap((item) => Object.values(item))];
}

test("/openapi.json is valid OpenAPI 3.1, and every reference in it resolves", async (t) => {
	const shop = await openTestShop(t);
	const validator = new Validator();
	const result = await validator.validate({ ...(await readDocument(shop)) });
	deepEqual(result, { valid: true });
	equal(validator.version, "3.1");
	const text = JSON.stringify(document);
	const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name = ""]) => name);
	ok(names.length > 10);
	for (const name of names) api.schemaNamed(name);
});

test("the published document allows new fields and words in answers, and the strict form for tests does not", async (t) => {
	const published = new DescribedApi(await readDocument(await openTestShop(t)));
	const conversion = document.components.schemas["Conversion"]?.examples?.[0];
	ok(typeof conversion === "object" && conversion !== null);
	for (const later of [{ payoutId: "pay_1" }, { status: "DISPUTED" }, { reason: "PRICE_MATCH" }]) {
		const answer: object = { ...conversion, ...later };
		deepEqual(published.flaws(published.schemaNamed("Conversion"), answer), []);
		notEqual(api.flaws(api.schemaNamed("Conversion"), answer).length, 0, JSON.stringify(later));
	}
	const number = { ...conversion, status: 7 };
	notEqual(
		published.flaws(published.schemaNamed("Conversion"), number).length,
		0,
		"open, but not to everything",
	);
	const requests = ({ paths }: OpenApiDocument) =>
		JSON.stringify(Object.values(paths).map(({ post, get }) => [post?.requestBody, get?.parameters]));
	equal(requests(published.document), requests(document), "what we take is exactly what is said");
});

test("/openapi.json can be read by scripts of any site, cached for a while, and not be changed", async (t) => {
	const shop = await openTestShop(t);
	const answer = await shop.request("/openapi.json");
	const { status, headers } = answer;
	equal(status, 200);
	doesNotMatch(await answer.text(), /\t/, "linters report every line that is indented with tabs");
	equal(headers.get("content-type"), "application/json");
	equal(headers.get("access-control-allow-origin"), "*");
	equal(headers.get("cache-control"), "public, max-age=300");
	equal(headers.get("set-cookie"), null);
	equal(headers.get("x-content-type-options"), "nosniff");
	const refused = await shop.request("/openapi.json", { method: "POST" });
	deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
	const elsewhere = await shop.request("/v1/conversions");
	equal(elsewhere.headers.get("access-control-allow-origin"), null, "the API itself is for servers");
});

test("the document has the brand and address of its installation, and no others", async (t) => {
	const change = (deps: AppDeps) => ({
		network: createNetworkCache(deps, "Acme"),
		publicUrl: "https://track.acme.example",
	});
	const shop = await openTestShop(t, { change });
	const text = JSON.stringify(await readDocument(shop));
	match(text, /X-Acme-Signature/);
	match(text, /"service-postback\/1"/);
	match(text, /"servers":\[\{"url":"https:\/\/track\.acme\.example"/);
	equal(/X-Service|acme-postback|ringback\.example/.exec(text), null);
});

test("the document describes exactly the routes that are not pages, with exactly their methods", async (t) => {
	const shop = await openTestShop(t);
	const site = createSite(
		{
			...shop.deps,
			auth: createAuth(shop.deps),
			admission: createAdmission(shop.deps),
			networkTallies: createNetworkTallies(shop.deps),
			subTotals: createSubTotals(shop.deps),
		},
		SITE_LISTS,
	);
	const pages = new Set(site.routes.map(({ path }) => path));
	/** Routes that are not part of the API: the document itself, the partners' links and unknown paths. */
	const others = ["/openapi.json", "/c/*", "/*"];
	const routes = new Set(createApp(shop.deps).routes.map(({ path }) => path));
	const ours = [...routes].filter((path) => !pages.has(path) && !others.includes(path));
	const described = Object.entries(document.paths).map(([path, item]) => [
		path,
		Object.keys(item)
			.map((method) => method.toUpperCase())
			.sort(),
	]);
	const served = await Promise.all(
		ours.map(async (path) => {
			const response = await shop.request(path.replace(/:\w+/g, "x"), { method: "PUT" });
			const allow = (response.headers.get("allow") ?? "").split(", ").filter((method) => method !== "HEAD");
			const template = path.replace("/pixel/*", "/pixel/{programId}.gif").replace(/:(\w+)/g, "{$1}");
			return [template, allow.sort()];
		}),
	);
	deepEqual(described.sort(), served.sort());
});

describe("the examples in the document", () => {
	const media = (content: Readonly<Record<string, MediaType>> = {}): MediaType[] => Object.values(content);

	for (const operation of operations(document)) {
		test(`the examples of ${operation.operationId} match their description`, () => {
			const bodies = [
				...media(operation.requestBody?.content),
				...Object.values(operation.responses).flatMap(({ content }) => media(content)),
			];
			for (const { schema, examples = {} } of bodies) {
				if (schema !== undefined) notEqual(Object.keys(examples).length, 0, "each has one");
				for (const { value } of Object.values(examples)) deepEqual(api.flaws(schema ?? {}, value), []);
			}
			for (const { name, schema, example } of operation.parameters ?? []) {
				if (example !== undefined) deepEqual(api.flaws(schema, example), [], name);
			}
		});
	}

	test("the examples of every schema and field match their description", () => {
		let count = 0;
		const walk = (schema: JsonSchema): void => {
			for (const example of schema.examples ?? []) {
				count++;
				deepEqual(api.flaws(schema, example), [], JSON.stringify(schema));
			}
			for (const inner of Object.values(schema.properties ?? {})) walk(inner);
		};
		for (const schema of Object.values(document.components.schemas)) walk(schema);
		for (const { requestBody } of operations(document)) {
			for (const { schema } of media(requestBody?.content)) walk(schema ?? {});
		}
		ok(count > 20, `${count} examples`);
	});

	test("no refusal of an operation lists a code twice", () => {
		for (const { operationId, responses } of operations(document)) {
			for (const [status, { content }] of Object.entries(responses)) {
				const { allOf = [] } = content?.["application/problem+json"]?.schema ?? {};
				const codes = allOf.flatMap(({ properties }) => properties?.["code"]?.enum ?? []);
				equal(new Set(codes).size, codes.length, `${operationId} ${status}: ${codes.join(", ")}`);
			}
		}
	});

	test("no two operations have the same ID, because generators make a function of each", () => {
		const ids = operations(document).map(({ operationId }) => operationId);
		deepEqual(
			ids.filter((id, index) => ids.indexOf(id) !== index),
			[],
		);
	});

	test("the examples of requests carry the signature of their own bytes", () => {
		let count = 0;
		for (const { "x-codeSamples": samples = [] } of operations(document)) {
			for (const { source } of samples.filter(({ label }) => label === "curl")) {
				const [, target = ""] = /^curl 'https:\/\/ringback\.example([^']*)'/.exec(source) ?? [];
				const [, body = ""] = /-d '([^']*)'/.exec(source) ?? [];
				const [timestamp, nonce, signature] = ["Timestamp", "Nonce", "Signature"].map(
					(word) => new RegExp(`X-Service-${word}: ([^']*)'`).exec(source)?.[1],
				);
				const digest = createHash("sha256").update(body).digest("hex");
				const canonical = [body === "" ? "GET" : "POST", target, timestamp, nonce, digest].join("\n");
				equal(createHmac("sha256", EXAMPLE_SECRET).update(canonical).digest("hex"), signature);
				count++;
			}
		}
		equal(count, 12);
	});

	test("the examples of callbacks carry the signature of their own request", () => {
		let count = 0;
		for (const [name, item] of Object.entries(document.webhooks)) {
			for (const [method, { parameters = [], requestBody }] of Object.entries(item)) {
				const [timestamp, nonce, signature] = ["Timestamp", "Nonce", "Signature"].map((word) =>
					parameters.find((parameter) => parameter.name === `X-Service-${word}`),
				);
				const [, target] = /\(here `([^`]+)`\)/.exec(signature?.description ?? "") ?? [];
				const [sent] = Object.values(requestBody?.content["application/json"]?.examples ?? {});
				const body = sent === undefined ? "" : JSON.stringify(sent.value);
				const digest = createHash("sha256").update(body).digest("hex");
				const parts = [method.toUpperCase(), target, timestamp?.example, nonce?.example, digest];
				const expected = createHmac("sha256", EXAMPLE_SECRET).update(parts.join("\n")).digest("hex");
				equal(signature?.example, expected, `${method} ${name}`);
				count++;
			}
		}
		equal(count, 6);
	});
});

test("the description of each answer of a shop or a partner says what the engine does with it", () => {
	for (const [name, item] of Object.entries(document.webhooks)) {
		const kind = name === "partnerCallback" ? "partner" : "shop";
		for (const operation of Object.values(item)) {
			for (let status = 200; status <= 599; status++) {
				const said = responseFor(operation, status)?.description ?? "";
				ok(said.startsWith(meaningOf({ kind: "answered", status }, kind)), `${name} ${status}: ${said}`);
			}
		}
	}
	const { description = "" } = document.webhooks["conversion.recorded"]?.post.responses["5XX"] ?? {};
	equal(description, "Retried, with up to 7 attempts in all: after 1 min, 5 min, 30 min, 2 h, 6 h and 24 h.");
});
