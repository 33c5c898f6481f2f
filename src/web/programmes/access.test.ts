// Who may open and do what on the pages of programmes, people, overview and notices.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestSite, type TestSite } from "../test-site.test-support.ts";

const UNKNOWN = "prg_00000000000000000000000000";
const PAGES = ["overview", "overview/totals", "settings", "people", "notices"];
const ACTIONS = ["settings", "people/invite", "people/usr_1/link", "people/usr_1/remove"];
const FIELDS = { name: "Taken over", approvalDays: "1", email: "thief@shop.example" };

test("another shop's owner gets the same bytes as for a programme that does not exist", async (t) => {
	const { site, programme, outsider } = await openTwoShops(t);
	const browser = await site.signIn(outsider);
	await browser.open("/account");
	const before = await site.storedText();
	for (const page of PAGES) {
		const theirs = await browser.open(`/programmes/${programme.public_id}/${page}`);
		const nobodys = await browser.open(`/programmes/${UNKNOWN}/${page}`);
		assert.equal(theirs.status, 404, page);
		assert.equal(theirs.text, nobodys.text, page);
		assert.deepEqual([...theirs.headers], [...nobodys.headers], page);
		assert.ok(!theirs.text.includes("Victim"), page);
	}
	for (const action of ACTIONS) {
		const theirs = await browser.submit(`/programmes/${programme.public_id}/${action}`, FIELDS);
		const nobodys = await browser.submit(`/programmes/${UNKNOWN}/${action}`, FIELDS);
		assert.deepEqual([theirs.status, theirs.text], [404, nobodys.text], action);
	}
	assert.equal(await site.storedText(), before);
});

test("nobody is sent to sign in, and nothing is done", async (t) => {
	const { site, programme } = await openTwoShops(t);
	const before = await site.storedText();
	const browser = site.browser();
	await browser.open("/sign-in");
	for (const path of [
		"/programmes",
		"/programmes/new",
		"/people",
		...PAGES.map((page) => `/programmes/${programme.public_id}/${page}`),
	]) {
		const { status, location } = await browser.open(path);
		assert.deepEqual([status, location], [303, `/sign-in?next=${encodeURIComponent(path)}`]);
	}
	for (const path of [
		"/programmes/new",
		"/people/invite",
		...ACTIONS.map((action) => `/programmes/${programme.public_id}/${action}`),
	]) {
		const { status, location } = await browser.submit(path, FIELDS);
		assert.deepEqual([status, location], [303, "/sign-in"], path);
	}
	assert.equal(await site.storedText(), before);
});

test("staff and the programme's owner open every page", async (t) => {
	const { site, programme, owner } = await openTwoShops(t);
	for (const browser of [await site.signIn(owner), await site.signIn(await site.addStaff())]) {
		for (const page of PAGES) {
			const { status } = await browser.open(`/programmes/${programme.public_id}/${page}`);
			assert.equal(status, 200, page);
		}
	}
});

test("an owner gets what they get for an unknown page where only staff may go", async (t) => {
	const { site, owner } = await openTwoShops(t);
	const browser = await site.signIn(owner);
	const unknown = await browser.open(`/programmes/${UNKNOWN}/nowhere`);
	const page = await browser.open("/people");
	assert.deepEqual([page.status, page.text], [404, unknown.text]);
	const before = await site.storedText();
	for (const path of [
		"/people/invite",
		`/people/${owner.public_id}/link`,
		`/people/${owner.public_id}/deactivate`,
	]) {
		assert.equal((await browser.submit(path, FIELDS)).status, 404, path);
	}
	assert.equal(await site.storedText(), before);
});

test("a form without the token, with another session's or from another site changes nothing", async (t) => {
	const { site, programme, owner } = await openTwoShops(t);
	const staff = await site.signIn(await site.addStaff());
	const other = await site.signIn(owner);
	await staff.open("/programmes/new");
	await other.open("/account");
	const before = await site.storedText();
	const paths = [
		...["/programmes/new", "/people/invite", `/people/${owner.public_id}/deactivate`],
		...ACTIONS.map((action) => `/programmes/${programme.public_id}/${action}`),
	];
	for (const path of paths) {
		for (const options of [
			{ csrf: null },
			{ csrf: other.csrf },
			{ headers: { "sec-fetch-site": "cross-site" } },
		]) {
			assert.equal(
				(await staff.submit(path, FIELDS, options)).status,
				403,
				`${path} ${JSON.stringify(options)}`,
			);
		}
	}
	assert.equal(await site.storedText(), before);
});

test("every page has the strict headers and neither inline script nor inline style", async (t) => {
	const { site, programme } = await openTwoShops(t);
	const browser = await site.signIn(await site.addStaff());
	const paths = [
		"/programmes",
		"/programmes/new",
		"/people",
		...PAGES.map((page) => `/programmes/${programme.public_id}/${page}`),
	];
	for (const path of paths) {
		const { headers, text } = await browser.open(path);
		assert.match(headers.get("content-security-policy") ?? "", /script-src 'self'; style-src 'self'/, path);
		assert.equal(headers.get("cache-control"), "no-store", path);
		assert.doesNotMatch(text, /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/i, path);
	}
});

async function openTwoShops(t: Parameters<typeof openTestSite>[0]) {
	const site: TestSite = await openTestSite(t);
	const programme = await site.addProgramme("Victim");
	const owner = await site.addOwner(programme);
	const outsider = await site.addOwner(await site.addProgramme("Outsider"));
	return { site, programme, owner, outsider };
}
