import assert from "node:assert/strict";
import { test } from "node:test";
import { addPartner } from "#modules/partners/web/partner-shop.test-support.ts";
import { newNotice } from "../../../../test/support/notices.ts";
import { settle, takeDue } from "../../../../test/support/queue-rows.ts";
import { addDeliveries, addProgramme, failed } from "../../../../test/support/rows.ts";
import type { ChoreRecord } from "../../domain/chore.ts";
import { changeHold } from "../../programmes/callback-hold.ts";
import { readIsHeld } from "../../store/queries/delivery-pause.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { recordBackup, saveProcess } from "../../store/queries/system.ts";
import type { Store } from "../../store/store.ts";
import { type Browser, openTestSite, START_MS, type TestSite } from "../test-site.test-support.ts";

const WORKER = {
	instance: "0a1b2c3d",
	host: "machine-1",
	role: "all",
	version: "1.2.3",
	started_at_ms: START_MS - 86_400_000,
	seen_at_ms: START_MS - 5_000,
	in_hand: 7,
	programmes_due: 3,
	oldest_due_at_ms: START_MS - 30_000,
	most_in_flight: 512,
	mail_failed_at_ms: null,
	mail_error: null,
};
const CHORE: ChoreRecord = {
	name: "approvals",
	since_ms: START_MS - 900_000,
	last_success_ms: START_MS - 4_000,
	working_at_ms: null,
	last_failure_ms: null,
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

test("a healthy installation shows its version, processes and queue, and no chores or problems", async (t) => {
	const { site, staff } = await openStaff(t, { read: { chores: [CHORE] } });
	await saveProcess(site.store.db, WORKER);
	await saveProcess(site.store.db, { ...WORKER, instance: "4e5f6a7b", role: "web", in_hand: null });
	const engine = { in_hand: 1, programmes_due: 2, oldest_due_at_ms: null, most_in_flight: 512 };
	await saveProcess(site.store.db, { ...WORKER, instance: "8c9d0e1f", ...engine });
	const { status, text } = await staff.open("/system");
	assert.equal(status, 200);
	for (const words of [
		/Ringback 1\.2\.3 on SQLite/,
		/No problems found\./,
		/in 5 programmes/,
		/<dt>Being sent<\/dt><dd>8/,
		/<dt>Processes<\/dt><dd>3<small>version 1\.2\.3</,
		/Version \d+, which is current/,
		/<dt>Size<\/dt><dd>[\d.]+ [kM]B/,
		/None since the last accepted mail/,
	]) {
		assert.match(text, words);
	}
	assert.doesNotMatch(text, /machine-1|approvals/, "only what is late or silent is named");
	assert.match(text, /<a href="\/system"[^>]*aria-current="page"/, "it is in the navigation");
});

test("problems come first, each with its cure", async (t) => {
	const { site, staff } = await openStaff(t, {
		readDisk: async () => ({ freeBytes: 4_000_000_000, sizeBytes: 100_000_000_000 }),
		read: { chores: [{ ...CHORE, last_success_ms: START_MS - 600_000, failures: 3, error: "no room." }] },
		warned: { hasMail: false },
	});
	await saveProcess(site.store.db, {
		...WORKER,
		seen_at_ms: START_MS - 120_000,
		mail_failed_at_ms: START_MS - 60_000,
		mail_error: "535 wrong password",
	});
	await saveProcess(site.store.db, {
		...WORKER,
		instance: "4e5f6a7b",
		role: "web",
		in_hand: null,
		version: "1.2.4",
	});
	await recordBackup(site.store.db, {
		atMs: START_MS - 4 * 86_400_000,
		bytes: 12_000_000,
		note: "/backup/monday",
	});
	const { text } = await staff.open("/system");
	const list = /<section class="card" id="warnings"[\s\S]*?<\/section>/.exec(text)?.[0] ?? "";
	for (const words of [
		/No process delivers callbacks\.<\/strong> [^<]*RINGBACK_ROLE/,
		/A process stopped reporting: all 0a1b2c3d on machine-1\.<\/strong> [^<]*in flight \(at most 512\)/,
		/The disk of the database has 4 % left/,
		/The last backup is 4 days old\.<\/strong> [^<]*no longer runs <code>ringback record-backup<\/code>/,
		/are not being approved\.<\/strong> [^<]*no room\./,
		/Mail is off\.<\/strong> [^<]*SMTP_URL/,
	]) {
		assert.match(list, words);
	}
	assert.doesNotMatch(list, /Several versions/, "one of the two is not there any more");
	assert.match(text, /<dt>Processes<\/dt><dd>1</, "the silent one does not count");
	assert.match(text, /535 wrong password/);
	assert.match(text, /4 GB of 100 GB/);
	assert.match(
		text,
		/Last backup<\/dt>\s*<dd[^>]*><time [^>]*>[^<]*<\/time>, 12 MB: <span class="break">\/backup\/monday</,
	);
	assert.doesNotMatch(text, /about this installation/, "the warnings are told once");
});

for (const [hasMail, words] of [
	[true, /<dt>Notices to be mailed<\/dt><dd>1</],
	[false, /<dt>Notices not mailed<\/dt><dd>1, because mail is off\./],
] as const) {
	test(`notices without recipients do not count as not mailed, ${hasMail ? "with" : "without"} a mail server`, async (t) => {
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
		for (const { receiver_id } of [alone, viewed, unwanted, wanted]) {
			await site.store.db.insertInto("notices").values(newNotice(receiver_id, due)).execute();
		}
		assert.match((await staff.open("/system")).text, words);
	});
}

test("mails that the mail server refused are listed, both while they are retried and after they were given up", async (t) => {
	const { site, staff } = await openStaff(t, { hasMail: true });
	assert.doesNotMatch((await staff.open("/system")).text, /Mails that were not accepted/);
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
		/Mails that were not accepted.*one@<wbr>shop.*12:01.*ECONNREFUSED.*gone@<wbr>shop.*given up .*550 &lt;no&gt;/s,
	);
	assert.doesNotMatch(text, /new@<wbr>shop/);
	assert.match(
		text,
		/<dt>Waiting mails<\/dt><dd>2</,
		"the one that is due, and the one that the server could not take",
	);
});

test("staff hold and release all callbacks after a confirmation with their number, and both are audited", async (t) => {
	const { site, staff } = await openStaff(t);
	await site.setZone("Europe/Berlin");
	const programme = await addProgramme(site.store);
	await addDeliveries(site.store, programme, START_MS, START_MS, START_MS + 60_000);
	await saveProcess(site.store.db, { ...WORKER, oldest_due_at_ms: null });
	const before = await staff.open("/system");
	assert.match(before.text, /Oldest due<\/dt><dd>none</);
	assert.match(before.text, /<button[^>]*data-confirm="Hold all callbacks\? [^"]*"[^>]*>Hold all callbacks</);
	const press = async (to: string) => {
		await staff.submit("/system/hold", { to });
		return staff.open("/system");
	};
	const held = await press("held");
	assert.match(held.text, /All callbacks are held\. Those under way are finished\.</);
	assert.match(held.text, /Oldest due<\/dt><dd>not known<small>while callbacks are held/);
	assert.match(
		held.text,
		/held since 2026-03-01 13:00 \(Europe\/Berlin\) by [\w@.]+, and 3 wait\.[\s\S]*held; 2 would be sent at once/,
	);
	assert.match(
		held.text,
		/data-confirm="Release all callbacks\? 2 callbacks will be sent at once, and 1 later/,
	);
	assert.match((await press("held")).text, /Nothing had to be changed\./);
	for (const word of ["", "hold", "HELD"]) assert.match((await press(word)).text, /Nothing was changed\./);
	assert.match((await staff.open("/system")).text, /Release all callbacks</, "they are held still");
	const released = await press("released");
	assert.match(released.text, /Callbacks are sent again\.</);
	assert.match(released.text, /Hold all callbacks</);
	assert.match((await press("released")).text, /Nothing had to be changed\./);
	const { text } = await staff.open("/system/audit");
	assert.match(text, /All callbacks released[\s\S]*3 waited/);
	assert.equal((await site.audit("callbacks.held")).length, 1);
	assert.equal((await site.audit("callbacks.released")).length, 1);
});

test("failed callbacks of all programmes are previewed first and then sent again once", async (t) => {
	const { site, staff } = await openStaff(t);
	const { store } = site;
	const [many, one, other] = [
		await addProgramme(store),
		await addProgramme(store),
		await addProgramme(store),
	];
	await failAll(store, many, 3, START_MS - 120_000);
	await failAll(store, one, 1, START_MS - 60_000);
	await failAll(store, other, 1, START_MS - 7_200_000);
	const query = { from: "2026-03-01T11:00", to: "", programme: "", zone: "UTC" };
	const path = `/system/resend?${new URLSearchParams(query)}`;
	assert.doesNotMatch((await staff.open("/system/resend")).text, /again\?/, "nothing is chosen yet");
	const { text } = await staff.open(path);
	assert.match(text, /Send 4 callbacks of 2 receivers again/);
	assert.doesNotMatch(text, new RegExp(other.public_id));
	const only = await staff.open(path.replace("programme=", `programme=${one.public_id}`));
	assert.match(only.text, /Send 1 callback of 1 receiver again/);
	const asOfMs = /name="asOfMs" value="(\d+)"/.exec(text)?.[1] ?? "";
	const press = async (asOf = asOfMs) => {
		const { location } = await staff.submit("/system/resend", { ...query, asOfMs: asOf });
		return staff.open(location ?? "");
	};
	assert.match((await press()).text, /4 callbacks are being sent again\.<[\s\S]*No callback failed then/);
	assert.match((await press()).text, /Nothing was left to be sent again\./, "pressed twice");
	const entries = await site.audit("deliveries.resent");
	assert.deepEqual(
		entries.map(({ programme_id, detail }) => [programme_id, detail]),
		[
			[many.id, "3: that failed since 2026-03-01T11:00:00.000Z until 2026-03-01T12:00:00.000Z"],
			[one.id, "1: that failed since 2026-03-01T11:00:00.000Z until 2026-03-01T12:00:00.000Z"],
		],
	);
	for (const [wrong, message] of [
		[{ ...query, from: "2026-02-30T12:00" }, /id="from-error">Enter a day and a time/],
		[{ ...query, from: "yesterday" }, /id="from-error">Enter a day and a time/],
		[{ ...query, to: "2026-03-01T10:59" }, /id="to-error">Choose a later time than the first one/],
		[
			{ ...query, programme: "prg_nothing" },
			/id="programme-error">There is no programme or partner with this ID/,
		],
	] as const) {
		const { status, text: refused } = await staff.open(`/system/resend?${new URLSearchParams(wrong)}`);
		assert.equal(status, 422);
		assert.match(refused, message);
		assert.doesNotMatch(refused, /No callback failed then|receivers? again/);
	}
});

async function failAll(store: Store, programme: Programme, count: number, atMs: number): Promise<void> {
	await addDeliveries(store, programme, ...Array<number>(count).fill(atMs - 1_000));
	for (const due of await takeDue(store, programme.receiver_id, count, atMs))
		await settle(store, failed(due, atMs));
}

test("failed callbacks of one partner are chosen by its ID", async (t) => {
	const { site, staff } = await openStaff(t);
	const { partner } = await addPartner(site, "Blog");
	const query = new URLSearchParams({ from: "2026-03-01T11:00", to: "", programme: partner.public_id });
	const { status, text } = await staff.open(`/system/resend?${query}`);
	assert.equal(status, 200);
	assert.match(text, /No callback failed then/);
});

test("a person who was just signed out, or is not staff, cannot hold callbacks", async (t) => {
	const { site } = await openStaff(t);
	const gone = { personId: 1, kind: "staff", sessionId: "gone" } as const;
	const refused = await changeHold(site.deps, gone, "held");
	assert.equal(refused.ok || refused.fault.code, "not_allowed");
	const owner = await site.signIn(await site.addOwner(await site.addProgramme()));
	assert.equal((await owner.submit("/system/hold", { to: "held" })).status, 404);
	assert.equal((await owner.open("/system/resend")).status, 404);
	assert.equal(await readIsHeld(site.store.db), false);
});
