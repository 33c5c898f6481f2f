import assert from "node:assert/strict";
import { test } from "node:test";
import { newNotice } from "../../../test/support/notices.ts";
import type { ChoreRecord } from "../../domain/chore.ts";
import { noteBackup, saveProcess } from "../../store/queries/system.ts";
import { type Browser, openTestSite, START_MS, type TestSite } from "../test-site.test-support.ts";

const WORKER = {
	instance: "0a1b2c3d",
	host: "machine-1",
	role: "all",
	version: "1.2.3",
	startedAtMs: START_MS - 86_400_000,
	seenAtMs: START_MS - 5_000,
	engine: { inHand: 7, programmesDue: 3, oldestDueAtMs: START_MS - 30_000, mostInFlight: 512 },
	mailFailure: null,
};
const CHORE: ChoreRecord = {
	name: "approvals",
	sinceMs: START_MS - 900_000,
	lastSuccessMs: START_MS - 4_000,
	workingAtMs: null,
	lastFailureMs: null,
	failures: 0,
	error: null,
};

async function openStaff(
	t: Parameters<typeof openTestSite>[0],
	options: Parameters<typeof openTestSite>[1] = {},
): Promise<{ site: TestSite; staff: Browser }> {
	const site = await openTestSite(t, { hasMail: true, ...options });
	return { site, staff: await site.signIn(await site.addStaff()) };
}

test("a sound installation: its version, its processes and its queue, no chore by name, and nothing to put right", async (t) => {
	const { site, staff } = await openStaff(t, { read: { chores: [CHORE] } });
	await saveProcess(site.store.db, WORKER);
	await saveProcess(site.store.db, { ...WORKER, instance: "4e5f6a7b", role: "web", engine: null });
	const engine = { inHand: 1, programmesDue: 2, oldestDueAtMs: null, mostInFlight: 512 };
	await saveProcess(site.store.db, { ...WORKER, instance: "8c9d0e1f", engine });
	const { status, text } = await staff.open("/system");
	assert.equal(status, 200);
	for (const words of [
		/Ringback 1\.2\.3 on SQLite/,
		/No problems found\./,
		/5 programmes have something due/,
		/<dt>Being sent<\/dt><dd>8/,
		/<dt>Processes<\/dt><dd>3<small>version 1\.2\.3</,
		/Version \d+, which is current/,
		/<dt>Size<\/dt><dd>[\d.]+ [kM]B/,
		/None since the last mail that was taken/,
	]) {
		assert.match(text, words);
	}
	assert.doesNotMatch(text, /machine-1|approvals/, "only what is late or silent is named");
	assert.match(text, /<a href="\/system"[^>]*aria-current="page"/, "it is in the navigation");
});

test("what is wrong stands first, each with what to do", async (t) => {
	const { site, staff } = await openStaff(t, {
		readDisk: async () => ({ freeBytes: 4_000_000_000, sizeBytes: 100_000_000_000 }),
		read: { chores: [{ ...CHORE, lastSuccessMs: START_MS - 600_000, failures: 3, error: "no room." }] },
		warned: { hasMail: false },
	});
	await saveProcess(site.store.db, {
		...WORKER,
		seenAtMs: START_MS - 120_000,
		mailFailure: { atMs: START_MS - 60_000, reason: "535 wrong password" },
	});
	await saveProcess(site.store.db, {
		...WORKER,
		instance: "4e5f6a7b",
		role: "web",
		engine: null,
		version: "1.2.4",
	});
	await noteBackup(site.store.db, START_MS - 4 * 86_400_000);
	const { text } = await staff.open("/system");
	const list = /<section class="card" id="warnings"[\s\S]*?<\/section>/.exec(text)?.[0] ?? "";
	for (const words of [
		/No process delivers callbacks\.<\/strong> [^<]*RINGBACK_ROLE/,
		/A process stopped reporting: all 0a1b2c3d on machine-1\.<\/strong> [^<]*in flight \(at most 512\)/,
		/The disk of the database has 4 % left/,
		/The last backup is 4 days old\.<\/strong> [^<]*journalctl -u ringback-backup/,
		/are not being approved\.<\/strong> [^<]*no room\./,
		/Mail is off\.<\/strong> [^<]*SMTP_URL/,
	]) {
		assert.match(list, words);
	}
	assert.doesNotMatch(list, /Several versions/, "one of the two is not there any more");
	assert.match(text, /<dt>Processes<\/dt><dd>1</, "the silent one does not count");
	assert.match(text, /535 wrong password/);
	assert.match(text, /4 GB of 100 GB/);
	assert.match(text, /Last backup<\/dt>\s*<dd[^>]*><time [^>]*>[^<]*<\/time> by <code>ringback backup/);
	assert.doesNotMatch(text, /about this installation/, "the warnings are told once");
});

for (const [hasMail, words] of [
	[true, /<dt>Notices to be mailed<\/dt><dd>1</],
	[false, /<dt>Notices not mailed<\/dt><dd>1, because mail is off\./],
] as const) {
	test(`notices that nobody is to be mailed about do not count as not mailed, ${hasMail ? "with" : "without"} a mail server`, async (t) => {
		const { site, staff } = await openStaff(t, { hasMail });
		const [alone, viewed, unwanted, wanted] = await Promise.all(
			["Alone", "Viewed", "Unwanted", "Wanted"].map((name) => site.addProgramme(name)),
		);
		assert.ok(alone && viewed && unwanted && wanted);
		await site.addPerson(viewed, "viewer");
		const quiet = await site.addOwner(unwanted);
		await site.store.db
			.updateTable("people")
			.set({ mails_callbacks_failing: 0 })
			.where("id", "=", quiet.id)
			.execute();
		await site.addOwner(wanted);
		const due = { opened_at_ms: START_MS, told_at_ms: START_MS, mail_due_at_ms: START_MS };
		for (const { id } of [alone, viewed, unwanted, wanted]) {
			await site.store.db.insertInto("notices").values(newNotice(id, due)).execute();
		}
		assert.match((await staff.open("/system")).text, words);
	});
}

test("mails that the server did not take are listed while they are tried again and when they were given up", async (t) => {
	const { site, staff } = await openStaff(t, { hasMail: true });
	assert.doesNotMatch((await staff.open("/system")).text, /Mails that were not taken/);
	const mail = { subject: "Hello", created_at_ms: START_MS, good_until_ms: START_MS + 60_000 };
	const refused = { to_address: "gone@shop.example", refusal: "550 <no> such mailbox" };
	const away = {
		to_address: "one@shop.example",
		refusal: "connect ECONNREFUSED",
		due_at_ms: START_MS + 60_000,
	};
	const waiting = { to_address: "new@shop.example", due_at_ms: START_MS };
	const rows = [{ ...refused, given_up_at_ms: START_MS }, away, waiting];
	for (const row of rows)
		await site.store.db
			.insertInto("mail_queue")
			.values({ ...mail, ...row })
			.execute();
	const { text } = await staff.open("/system");
	assert.match(
		text,
		/Mails that were not taken.*one@<wbr>shop.*12:01.*ECONNREFUSED.*gone@<wbr>shop.*given up .*550 &lt;no&gt;/s,
	);
	assert.doesNotMatch(text, /new@<wbr>shop/);
	assert.match(
		text,
		/<dt>Mails that wait<\/dt><dd>2</,
		"the one that is due, and the one that the server could not take",
	);
});
