// A newcomer's first minutes with a service that was just started: from the welcome link to a verified
// callback, with the pages' own forms.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { verifyPostback } from "@ringback/receiver";
import { DOWNLOADS_PATH } from "#core/web/paths.ts";
import { Browser } from "#core/web/test-site.test-support.ts";
import { currentPackage } from "../support/packed-package.ts";
import type { Shop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import { until } from "../support/until.ts";

const PASSWORD = "correct horse battery";
const EMAIL = "first@network.example";

export interface Credentials {
	programmeId: string;
	apiKey: string;
	secret: string;
}

export async function makeNetwork(url: string, welcomeLink: string, shop: Shop): Promise<Credentials> {
	const browser = new Browser((path, init) => fetch(url + path, { ...init, redirect: "manual" }));
	const welcome = new URL(welcomeLink).pathname;
	match((await browser.open(welcome)).text, /the first staff account/);
	equal((await browser.submit(welcome, { email: EMAIL, name: "Nia", password: PASSWORD })).status, 303);

	const { text: form } = await browser.open("/programmes/new");
	const [, programmeId = ""] = /name="programmeId" value="([^"]+)"/.exec(form) ?? [];
	const created = await browser.submit("/programmes/new", {
		programmeId,
		name: "Shop",
		currency: "EUR",
		commissionRate: "8",
		feeRate: "2.5",
		approvalDays: "30",
		approvalDaysMin: "1",
		approvalDaysMax: "90",
		parksPixels: "on",
		parkedDays: "30",
	});
	const integration = `/programmes/${programmeId}/integration`;
	deepEqual([created.status, created.location], [303, integration]);
	const { text: issued } = await browser.submit(integration, {});
	const [apiKey = ""] = /\brbk_[\w-]{20,}/.exec(issued) ?? [];
	const [secret = ""] = /\brbs_[\w-]{20,}/.exec(issued) ?? [];
	ok(apiKey !== "" && secret !== "", "key and secret are shown once");
	equal((await browser.submit(`${integration}/postback-url`, { postbackUrl: shop.url() })).status, 303);
	match((await browser.open(`${integration}/keys?lang=php`)).text, /hash_hmac/);

	equal((await browser.submit("/sign-out", {})).status, 303);
	await browser.open("/sign-in");
	equal((await browser.submit("/sign-in", { email: EMAIL, password: PASSWORD })).status, 303);
	return { programmeId, apiKey, secret };
}

/** Reports a sale as the shop's server and waits for its callback. */
export async function reportSale(
	url: string,
	{ apiKey, secret }: Credentials,
	shop: Shop,
	orderId: string,
): Promise<void> {
	const sale = { orderId, basketValue: "129.90", currency: "EUR" };
	const { outcome } = await createShopClient(url, apiKey, secret, Date.now).post("/v1/conversions", sale);
	equal(outcome, "RECORDED");
	await until(() => shop.requests.length > 0);
	const [request] = shop.requests;
	ok(request !== undefined);
	const headers = Object.fromEntries(
		request.rawHeaders.flatMap((name, at) =>
			at % 2 === 0 ? [[name, request.rawHeaders[at + 1] ?? ""]] : [],
		),
	);
	const { path, body: rawBody } = request;
	const verified = await verifyPostback({ path, headers, rawBody, secret });
	ok(verified.ok && verified.event.orderId === orderId, JSON.stringify(verified));
}

/** Checks the files that a browser loads, and the pages that are files inside the executable. */
export async function checkFiles(url: string): Promise<void> {
	const signIn = await (await fetch(`${url}/sign-in`)).text();
	const assets = [...signIn.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
	ok(assets.length >= 3, signIn);
	for (const path of assets) equal((await fetch(url + path)).status, 200, path);
	const docs = await (await fetch(`${url}/docs/rules?lang=go`)).text();
	match(docs, /Rules for receivers/);
	match(docs, /package<\/span> main/);
	equal((await fetch(`${url}/openapi.json`)).status, 200);
	await checkDownload(url);
}

/** Checks that the package for shops comes out of the executable unchanged. */
async function checkDownload(url: string): Promise<void> {
	const page = await (await fetch(`${url}${DOWNLOADS_PATH}`)).text();
	const { file, sha256 } = currentPackage();
	ok(page.includes(file) && page.includes(sha256), page);
	const bytes = await (await fetch(`${url}${DOWNLOADS_PATH}/${file}`)).bytes();
	equal(createHash("sha256").update(bytes).digest("hex"), sha256);
}
