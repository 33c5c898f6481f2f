// Opens a shop's integration page as its owner, and takes the first steps that most tests need.

import type { TestContext } from "node:test";
import { signedRequest } from "../../../../test/support/signed-request.ts";
import { createApp } from "../../../app.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { type Browser, openTestSite, type TestSite } from "../test-site.test-support.ts";

export const URL_ENTERED = "https://shop.example/postback?shop=1";
export const KEY = /rbk_[0-9a-f]{64}/;
export const SECRET = /rbs_[0-9a-f]{64}/;

export interface Shop {
	site: TestSite;
	programme: Programme;
	browser: Browser;
	/** Path of the first tab of Integration. */
	path: string;
	keys: string;
}

export async function openShop(
	t: TestContext,
	change: Partial<TestSite["deps"]> = {},
	brand: string | null = null,
): Promise<Shop> {
	const site = await openTestSite(t, { change, brand });
	const programme = await site.addProgramme();
	const browser = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/integration`;
	return { site, programme, browser, path, keys: `${path}/keys` };
}

export async function issue(browser: Browser, path: string): Promise<{ key: string; secret: string }> {
	await browser.open(path);
	const { text } = await browser.submit(`${path}/keys`, {});
	return { key: KEY.exec(text)?.[0] ?? "", secret: SECRET.exec(text)?.[0] ?? "" };
}

export async function report(
	{ deps }: TestSite,
	credentials: { key: string; secret: string },
	orderId: string,
	basketValue = "10.00",
): Promise<Response> {
	const body = { orderId, basketValue };
	return createApp(deps).request(
		signedRequest("POST", "/v1/conversions", credentials, { body, nowMs: deps.clock.nowMs() }),
	);
}
