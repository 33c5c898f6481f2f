import assert from "node:assert/strict";
import { test } from "node:test";
import { noteAudit } from "../../store/queries/audit.ts";
import type { Person } from "../../store/queries/people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { type Browser, openTestSite, START_MS, type TestSite } from "../test-site.test-support.ts";

const DAY_MS = 86_400_000;

interface Filled {
	site: TestSite;
	staff: Browser;
	mira: Person;
	programme: Programme;
}

/** Opens a site whose audit log has entries on four days, besides those of the sign-in. */
async function fill(t: Parameters<typeof openTestSite>[0]): Promise<Filled> {
	const site = await openTestSite(t);
	const mira = await site.addStaff("mira@network.example");
	const jo = await site.addStaff("jo@network.example");
	const programme = await site.addProgramme("Garden & Tools");
	const other = await site.addProgramme("Other");
	const note = (
		personId: number | null,
		programmeId: number,
		action: "key.issued" | "key.revoked",
		daysBefore: number,
	) =>
		noteAudit(
			site.store.db,
			{ personId, programmeId, action, subject: `${action} ${daysBefore}`, detail: "=1+1" },
			START_MS + (4 - daysBefore) * DAY_MS,
		);
	await note(mira.id, programme.id, "key.issued", 3);
	await note(jo.id, programme.id, "key.revoked", 2);
	await note(null, other.id, "key.issued", 1);
	await note(mira.id, other.id, "key.revoked", 0);
	return { site, staff: await site.signIn(mira), mira, programme };
}

const SUBJECTS = /key\.(?:issued|revoked) \d/g;

test("entries are found by person, action, programme and period, and by combinations of them", async (t) => {
	const { staff, programme } = await fill(t);
	const cases: readonly [query: string, found: readonly string[]][] = [
		["", ["key.revoked 0", "key.issued 1", "key.revoked 2", "key.issued 3"]],
		["?person=Mira@network.example", ["key.revoked 0", "key.issued 3"]],
		["?action=key.issued", ["key.issued 1", "key.issued 3"]],
		[`?programme=${programme.public_id}`, ["key.revoked 2", "key.issued 3"]],
		["?from=2026-03-04", ["key.revoked 0", "key.issued 1"]],
		["?to=2026-03-03", ["key.revoked 2", "key.issued 3"]],
		["?from=2026-03-03&to=2026-03-04", ["key.issued 1", "key.revoked 2"]],
		["?from=2027-01-01", []],
		[`?programme=${programme.public_id}&person=jo@network.example`, ["key.revoked 2"]],
	];
	for (const [query, found] of cases) {
		const { status, text } = await staff.open(`/system/audit${query}`);
		assert.equal(status, 200, query);
		assert.deepEqual(text.match(SUBJECTS) ?? [], found, query);
	}
});

test("a period includes the last millisecond of its last day, even if a later entry was written first", async (t) => {
	const { site, staff } = await fill(t);
	const endMs = Date.UTC(2026, 2, 10);
	for (const [subject, atMs] of [
		["key.issued 8", endMs],
		["key.issued 9", endMs - 1],
		["key.issued 7", endMs + 2 * DAY_MS],
	] as const) {
		await noteAudit(site.store.db, { personId: null, action: "key.issued", subject }, atMs);
	}
	const found = async (query: string) => (await staff.open(`/system/audit${query}`)).text.match(SUBJECTS);
	assert.deepEqual(await found("?from=2026-03-09&to=2026-03-09"), ["key.issued 9"]);
	assert.deepEqual(await found("?from=2026-03-10&to=2026-03-10"), ["key.issued 8"]);
	assert.deepEqual(await found("?from=2026-03-10"), ["key.issued 7", "key.issued 8"]);
});

test("an invalid filter is shown at its field, and nothing is listed or exported", async (t) => {
	const { staff } = await fill(t);
	for (const path of [
		"/system/audit?from=tomorrow&action=key.stolen",
		"/system/audit.csv?from=tomorrow&action=key.stolen",
	]) {
		const { status, text } = await staff.open(path);
		assert.equal(status, 422);
		assert.match(text, /Enter a day such as 2026-03-01/);
		assert.match(text, /Choose one of these/);
		assert.doesNotMatch(text, SUBJECTS);
	}
	for (const [query, message] of [
		["person=nobody@network.example", /There is no account with this address/],
		["programme=prg_nothing", /There is no such programme/],
		["from=2026-03-04&to=2026-03-03", /The last day is before the first/],
	] as const) {
		for (const path of ["/system/audit", "/system/audit.csv"]) {
			const { status, text } = await staff.open(`${path}?${query}`);
			assert.equal(status, 422, query);
			assert.match(text, message);
			assert.doesNotMatch(text, SUBJECTS);
		}
	}
});

test("the IP address of a sign-in is shown below the person", async (t) => {
	const { staff } = await fill(t);
	const { text } = await staff.open("/system/audit?action=person.signed_in");
	assert.match(
		text,
		/mira@<wbr>network\.<wbr>example<\/span><\/span><span class="secondary">from [0-9a-f.:]+<\/span>/,
	);
});

test("the file has the filtered entries, and no cell that a spreadsheet would run as a formula", async (t) => {
	const { staff, programme } = await fill(t);
	const { text: page } = await staff.open("/system/audit?person=mira@network.example&action=key.issued");
	const [, href = ""] = /href="(\/system\/audit\.csv[^"]*)"/.exec(page) ?? [];
	const { headers, text } = await staff.open(href.replaceAll("&amp;", "&"));
	assert.match(headers.get("content-disposition") ?? "", /filename="audit-2026-03-01\.csv"/);
	assert.equal(
		text,
		`at,person,action,programme,programmeName,subject,detail,address,token\r\n2026-03-02T12:00:00.000Z,mira@network.example,key.issued,${programme.public_id},Garden & Tools,key.issued 3,'=1+1,,\r\n`,
	);
});

test("a long log is shown in pages, and the file has all entries, written in batches", async (t) => {
	const { site, staff, mira } = await fill(t);
	const rows = Array.from({ length: 2_100 }, (_, index) => ({
		at_ms: START_MS + index,
		person_id: mira.id,
		programme_id: null,
		action: "programme.changed",
		subject: `change ${index}.`,
		detail: null,
		address: null,
	}));
	for (let start = 0; start < rows.length; start += 500)
		await site.store.db
			.insertInto("audit_entries")
			.values(rows.slice(start, start + 500))
			.execute();
	const first = await staff.open("/system/audit?action=programme.changed");
	assert.equal(first.text.match(/change \d+\./g)?.length, 50);
	assert.match(first.text, /<strong>More than 1,000 entries<\/strong>/);
	const [, next = ""] = /href="(\/system\/audit\?[^"]*cursor=[^"]*)"/.exec(first.text) ?? [];
	const second = await staff.open(next.replaceAll("&amp;", "&"));
	assert.match(second.text, /change 2049\./);
	assert.doesNotMatch(second.text, /1,000 entries/);
	// Counting could read the whole log, because no single index has both filters.
	const narrowed = `/system/audit?action=programme.changed&person=${encodeURIComponent(mira.email)}`;
	assert.doesNotMatch((await staff.open(narrowed)).text, /1,000 entries/);
	assert.match((await staff.open("/system/audit?action=key.issued")).text, /<strong>2 entries<\/strong>/);
	const file = await staff.open("/system/audit.csv?action=programme.changed");
	const changes = file.text.match(/change \d+\./g) ?? [];
	assert.equal(new Set(changes).size, rows.length);
	assert.equal(changes.length, rows.length);
});
