import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { tellChanges } from "#core/mail/tell.ts";
import { listAudit } from "#core/store/queries/audit-list.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { findPersonByEmail, insertPerson } from "#core/store/queries/people.ts";
import { findRole } from "#core/store/queries/programme-people.ts";
import { findProgrammesByName } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "../../../../test/support/clock.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { createLog } from "../../../../test/support/log.ts";
import { newId } from "../../../../test/support/rows.ts";
import { createRandom } from "../../../outside/random.ts";
import { type JobDeps, openJobs, runLines, watchStatements, wordsOf } from "./jobs.test-support.ts";

const PROGRAMMES = "programme;owner_email;currency;commission;fee;approval_days;parks_pixels";
const PEOPLE = "email,name,programme,role";

async function countMails({ db }: Store): Promise<string[]> {
	const mails = await db.selectFrom("mail_queue").select("to_address").orderBy("id").execute();
	const changes = await db.selectFrom("changes_to_tell").selectAll().execute();
	return [...mails.map(({ to_address }) => to_address), ...changes.map(() => "owners are notified")];
}

function createMails({ store, clock, random }: JobDeps) {
	return createMailDispatcher({
		store,
		clock,
		random,
		log: createLog(),
		keyRing: createKeyRing([createRandom().bytes(SEALING_KEY_BYTES)]),
		mailer: { send: async () => null },
	});
}

eachDatabase("imported programmes and people", (database) => {
	async function openProgramme(name: string) {
		const deps = openJobs(database.store);
		await runLines(deps, "programmes", [PROGRAMMES, `${name};owner@${name}.example;EUR;7,5;2;30;`], "apply");
		const [programme] = await findProgrammesByName(database.store.db, [name]);
		ok(programme !== undefined);
		return { deps, programme };
	}

	test("a programme is opened as on the page, with its owner, and nobody is mailed", async () => {
		const { store } = database;
		const { programme } = await openProgramme("first");
		const { currency, commission_rate, fee_rate, approval_days, parks_pixels } = programme;
		deepEqual(
			[currency, commission_rate, fee_rate, approval_days, parks_pixels],
			["EUR", "7.5000", "2.0000", 30, 1],
		);
		const owner = await findPersonByEmail(store.db, "owner@first.example");
		equal(owner?.kind, "shop");
		equal(await findRole(store.db, programme.id, owner?.id ?? 0), "owner");
		deepEqual(await countMails(store), []);
		const { rows } = await listAudit(store.db, { programmeId: programme.id }, { limit: 10 });
		deepEqual(
			rows.map(({ action, detail }) => [action, detail]),
			[
				["person.imported", "owner"],
				["programme.created", "commission: 7.5 %, fee 2 %"],
			],
		);
	});

	test("fixed amounts and rates for event types are imported, checked, and compared if the line has them", async () => {
		const { store } = database;
		const deps = openJobs(store);
		const header =
			"programme;owner_email;currency;commission;commission_fixed;fee;fee_fixed;event_rates;approval_days";
		const line = (name: string, fixed: string, rates: string) =>
			`${name};owner@${name}.example;EUR;7,5;${fixed};2;0,25;${rates};30`;
		const rates = '"LEAD: 5,00 EUR, fee 1 EUR; renewal: 4 %, fee 0"';
		await runLines(deps, "programmes", [header, line("rated", "1,00", rates)], "apply");
		const [programme] = await findProgrammesByName(store.db, ["rated"]);
		deepEqual(
			[programme?.commission_rate, programme?.fee_rate, programme?.event_rates],
			["7.5000+1.00", "2.0000+0.25", "LEAD=0+5.00 0+1.00;RENEWAL=4 0"],
		);
		const again = await runLines(deps, "programmes", [header, line("rated", "1", rates)], "apply");
		deepEqual(wordsOf(again), ["2 already"]);
		const silent = [PROGRAMMES, "rated;owner@rated.example;EUR;7.5;2;30;"];
		deepEqual(wordsOf(await runLines(deps, "programmes", silent, "apply")), ["2 already"]);
		const other = [header, line("rated", "2", '"LEAD: 6 EUR, fee 1 EUR"')];
		deepEqual(wordsOf(await runLines(deps, "programmes", other, "apply")), [
			"2 refused: This programme is here already, and differs: commission_fixed 1.00 here, 2.00 in the file; event_rates LEAD: 5.00 EUR, fee 1.00 EUR; RENEWAL: 4 %, fee 0 % here, LEAD: 6.00 EUR, fee 1.00 EUR in the file.",
		]);
		const wrong = [header, line("wrong", "0,005", '"LEAD: 5, fee 0"')];
		deepEqual(wordsOf(await runLines(deps, "programmes", wrong, "apply")), [
			"2 refused: The fixed amount has too many decimals for EUR. Write it like 5.00, without a thousands separator. LEAD: “5” is not a rate. Write a percentage, an amount or both: “8 %”, “5.00 EUR” or “8 % + 5.00 EUR”.",
		]);
	});

	test("each line is checked by the rules of the page and compared with existing programmes", async () => {
		const { store } = database;
		const { deps } = await openProgramme("second");
		await insertPerson(store.db, {
			public_id: newId("usr"),
			email: "staff@network.example",
			kind: "staff",
			created_at_ms: START_MS,
		});
		const went = await runLines(
			deps,
			"programmes",
			[
				PROGRAMMES,
				"second;owner@second.example;eur;7.5 %;2;30;",
				"second ;OWNER@second.example;USD;8;2;31;no",
				"new;nobody;EURO;101;x;many;",
				"new too;staff@network.example;EUR;1;1;1;",
				"odd;a@odd.example;EUR;1;x;1;perhaps",
				";a@odd.example;EUR;1;1;1;",
			],
			"apply",
		);
		deepEqual(wordsOf(went), [
			"2 refused: Line 3 says something else about the same programme. Keep one of the two.",
			"3 refused: Line 2 says something else about the same programme. Keep one of the two.",
			"4 refused: commission must be a percentage from 0 to 100 with at most 4 decimals, such as 7.5. fee must be a percentage from 0 to 100 with at most 4 decimals, such as 7.5. The approval window is a whole number of days from 0 to 3,650. And 2 more.",
			"5 refused: staff@network.example is one of the network's staff, and staff cannot own a programme. Use another address.",
			"6 refused: fee must be a percentage from 0 to 100 with at most 4 decimals, such as 7.5. parks_pixels must be yes or no, or be left empty for yes.",
			"7 refused: Enter the programme's name. It may have at most 100 characters, and none that are invisible.",
		]);
		const same = await runLines(
			deps,
			"programmes",
			[PROGRAMMES, "second;owner@second.example;eur;7.5 %;2;30;"],
			"apply",
		);
		deepEqual(wordsOf(same), ["2 already"]);
		const other = await runLines(
			deps,
			"programmes",
			[PROGRAMMES, "second;x@second.example;USD;8;2;31;no"],
			"apply",
		);
		deepEqual(wordsOf(other), [
			"2 refused: This programme is here already, and differs: currency EUR here, USD in the file; commission 7.5 here, 8 in the file; approval_days 30 here, 31 in the file; parks_pixels yes here, no in the file; owner owner@second.example here, x@second.example in the file.",
		]);
	});

	test("people get their role and no mail, and the same file again changes nothing", async () => {
		const { store } = database;
		const { deps, programme } = await openProgramme("third");
		const lines = [
			PEOPLE,
			"Dev@Third.example,Ada Dev,third,Developer",
			`view@third.example,,${programme.public_id},viewer`,
			"owner@third.example,,third,viewer",
			"x@third.example,,nowhere,viewer",
			"x@third.example,,third,boss",
			"not an address,,third,viewer",
			"not an address,,nowhere,boss",
		];
		const words = [
			"4 refused: owner@third.example is here already, and differs: role owner here, viewer in the file. Change it on the People page, or correct the line.",
			"5 refused: There is no programme “nowhere”. Import the programmes first, or correct the name.",
			"6 refused: The role must be owner, developer or viewer.",
			'7 refused: "not an address" is not an email address. Enter one such as owner@shop.example.',
			'8 refused: "not an address" is not an email address. Enter one such as owner@shop.example. The role must be owner, developer or viewer. There is no programme “nowhere”. Import the programmes first, or correct the name.',
		];
		deepEqual(wordsOf(await runLines(deps, "people", lines, "preview")), ["2 change", "3 change", ...words]);
		deepEqual(wordsOf(await runLines(deps, "people", lines, "apply")), ["2 change", "3 change", ...words]);
		deepEqual(wordsOf(await runLines(deps, "people", lines, "apply")), ["2 already", "3 already", ...words]);
		const person = await findPersonByEmail(store.db, "dev@third.example");
		equal(person?.name, "Ada Dev");
		equal(await findRole(store.db, programme.id, person?.id ?? 0), "developer");
		deepEqual(await countMails(store), []);
	});

	test("an import that adds people is reported to owners who have a password, and to nobody else", async () => {
		const { store } = database;
		const { deps } = await openProgramme("live");
		const add = (email: string) => runLines(deps, "people", [PEOPLE, `${email},,live,owner`], "apply");
		await add("early@live.example");
		deepEqual(await countMails(store), []);
		const owner = await findPersonByEmail(store.db, "owner@live.example");
		ok(owner !== undefined);
		await store.db.transaction().execute((trx) => setPassword(trx, owner.id, "hash", START_MS));
		await add("late@live.example");
		const mails = createMails(deps);
		const telling = { store, clock: deps.clock, mails, publicUrl: "https://network.example" };
		await tellChanges(telling, () => false);
		await mails.stop();
		deepEqual(await countMails(store), ["owner@live.example"]);
		await store.db.deleteFrom("mail_queue").execute();
	});

	test("additions are reported for programmes in use only, which takes one query for each batch", async () => {
		const { deps } = await openProgramme("quiet");
		await openProgramme("busy");
		const { db } = database.store;
		const owner = await findPersonByEmail(db, "owner@busy.example");
		ok(owner !== undefined);
		await setPassword(db, owner.id, "hash", START_MS);
		await db.deleteFrom("changes_to_tell").execute();
		const { store, seen } = watchStatements(database.store, "passwords");
		const lines = Array.from(
			{ length: 60 },
			(_, at) => `n${at}@many.example,,${at % 2 ? "busy" : "quiet"},viewer`,
		);
		await runLines({ ...deps, store }, "people", [PEOPLE, ...lines], "apply");
		equal(seen.flat().length, 2, "one query for each batch");
		const changes = await db
			.selectFrom("changes_to_tell")
			.innerJoin("audit_entries as entry", "entry.id", "changes_to_tell.audit_entry_id")
			.innerJoin("programmes", "programmes.id", "changes_to_tell.programme_id")
			.select(["programmes.name", "entry.subject", "entry.detail"])
			.orderBy("entry.id")
			.execute();
		equal(changes.length, 30);
		deepEqual([changes[0]?.subject, changes[0]?.detail], ["n1@many.example", "viewer"]);
		deepEqual(new Set(changes.map(({ name }) => name)), new Set(["busy"]));
		await db.deleteFrom("changes_to_tell").execute();
	});

	test("people are created under the access lock, which each transaction takes once and first", async () => {
		await openProgramme("locked");
		const { store, seen } = watchStatements(database.store, "access_lock");
		const lines = [PEOPLE, ...Array.from({ length: 51 }, (_, at) => `p${at}@locked.example,,locked,viewer`)];
		await runLines(openJobs(store), "people", lines, "apply");
		// There is one transaction for the upload, one for the start, and one for each of the two batches.
		deepEqual(seen, [[1], [1], [1], [1]]);
	});

	test("an import that invites people mails each of them once, even if they are in several programmes", async () => {
		const { store } = database;
		await openProgramme("fourth");
		const { deps } = await openProgramme("fifth");
		const mails = createMails(deps);
		const inviting = { mails, publicUrl: "https://network.example" };
		const lines = [PEOPLE, "dev@both.example,,fourth,developer", "dev@both.example,,fifth,viewer"];
		const went = await runLines({ ...deps, inviting }, "people", lines, "apply");
		deepEqual(wordsOf(went), [
			"2 change",
			"3 change: Added without a mail: they have an open invitation, which leads to this programme too.",
		]);
		deepEqual([went.summary.counts.change, went.summary.remarks], [2, 1]);
		await mails.stop();
		const sent = await store.db.selectFrom("mail_queue").select("to_address").execute();
		deepEqual(
			sent.map(({ to_address }) => to_address).filter((to) => to === "dev@both.example"),
			["dev@both.example"],
		);
	});
});
