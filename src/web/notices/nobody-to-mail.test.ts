import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../../test/support/log.ts";
import { newNotice } from "../../../test/support/notices.ts";
import { mailNotices } from "../../callbacks/mail-notices.ts";
import { MAIL_INTERVAL_MS } from "../../domain/notice.ts";
import { openTestSite, START_MS } from "../test-site.test-support.ts";

test("without an owner a notice says that there is nobody to mail, the log nothing, and the owner is mailed later", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const due = { opened_at_ms: START_MS, told_at_ms: START_MS, mail_due_at_ms: START_MS };
	await site.store.db.insertInto("notices").values(newNotice(programme.id, due)).execute();
	const log = createLog();
	const sentTo: string[] = [];
	const mailer = {
		send: async ({ to }: { to: readonly string[] }) => {
			sentTo.push(...to);
			return [];
		},
	};
	const mail = () => mailNotices({ ...site.deps, log, mailer }, () => false);
	const staff = await site.signIn(await site.addStaff());
	const open = () => staff.open(`/programmes/${programme.public_id}/notices`);
	await mail();
	assert.deepEqual(log.lines, [], "it is ordinary");
	assert.match((await open()).text, /not sent: nobody to mail yet\./);
	const owner = await site.addOwner(programme);
	assert.match((await open()).text, /not sent yet; the next at/);
	site.moveClock(MAIL_INTERVAL_MS);
	await mail();
	assert.deepEqual(sentTo, [owner.email]);
});
