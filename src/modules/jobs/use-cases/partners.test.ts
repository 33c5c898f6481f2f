import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { listAudit } from "#core/store/queries/audit-list.ts";
import { listPartnerEmails } from "#core/store/queries/partner-people.ts";
import { findPartnersByName } from "#core/store/queries/partners.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { findProgrammesByName } from "#core/store/queries/programmes.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { findByCode, listPartnerships } from "#modules/partners/store/partnerships.ts";
import { createPartnerLinkCache } from "#modules/partners/use-cases/partner-link-cache.ts";
import { makePartnerLink } from "#modules/partners/use-cases/partner-links.ts";
import { changeState, MAX_CODES } from "#modules/partners/use-cases/partnerships.ts";
import { START_MS } from "../../../../test/support/clock.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { createLog } from "../../../../test/support/log.ts";
import { newId } from "../../../../test/support/rows.ts";
import { createRandom } from "../../../outside/random.ts";
import { actorOf, createJobSetup, type JobDeps, openJobs, runLines, wordsOf } from "./jobs.test-support.ts";

const PROGRAMMES =
	"programme;owner_email;currency;commission;fee;approval_days;parks_pixels;credits_partners;shop_addresses";
const PARTNERS = "partner;site;email;programme;rate";
const LINKS = "partner;programme;code;target;name";
const CODES = "partner;programme;code";

eachDatabase("imported partners, links and codes", (database) => {
	/** Opens a programme that credits partners, with the given name. Other tests use other names. */
	async function openProgramme(name: string, currency = "EUR") {
		const deps = openJobs(database.store);
		const line = `${name};owner@${name}.example;${currency};7,5;2;30;;yes;${name}.example *.cdn.example`;
		const { summary } = await runLines(deps, "programmes", [PROGRAMMES, line], "apply");
		deepEqual(summary.counts, { change: 1, already: 0, refused: 0 });
		const [programme] = await findProgrammesByName(database.store.db, [name]);
		ok(programme !== undefined);
		return { deps, programme };
	}

	/** Imports one partner into the programme. */
	async function addPartner(deps: JobDeps, name: string, programme: string) {
		const line = `${name};;${name}@blog.example;${programme};`;
		deepEqual(wordsOf(await runLines(deps, "partners", [PARTNERS, line], "apply")), ["2 change"]);
		const [partner] = await findPartnersByName(database.store.db, [name]);
		ok(partner !== undefined);
		const [partnership] = await listPartnerships(database.store.db, "partner_id", [partner.id]);
		ok(partnership !== undefined);
		return { partner, partnership };
	}

	test("lines with the same name make one partner with its person and a partnership in each programme", async () => {
		const { db } = database.store;
		const { deps, programme } = await openProgramme("alpha");
		await openProgramme("beta", "JPY");
		await db
			.updateTable("programmes")
			.set({ partner_terms: "Be fair." })
			.where("id", "=", programme.id)
			.execute();
		const lines = [
			PARTNERS,
			"Bergblog;bergblog.example;Anna@Bergblog.example;alpha;8",
			"Bergblog;https://bergblog.example/;anna@bergblog.example;beta;0+50",
			"Free;;free@free.example;;",
		];
		for (const step of ["preview", "apply"] as const) {
			deepEqual(wordsOf(await runLines(deps, "partners", lines, step)), ["2 change", "3 change", "4 change"]);
		}
		const [partner, ...others] = await findPartnersByName(db, ["Bergblog"]);
		ok(partner !== undefined);
		deepEqual([others.length, partner.site], [0, "https://bergblog.example/"]);
		deepEqual(await listPartnerEmails(db, partner.id), ["anna@bergblog.example"]);
		const partnerships = await listPartnerships(db, "partner_id", [partner.id]);
		deepEqual(
			partnerships.map(({ programme_name, commission_rate, terms }) => [
				programme_name,
				commission_rate,
				terms,
			]),
			[
				["alpha", "8.0000", "Be fair."],
				["beta", "0.0000+50", ""],
			],
		);
		deepEqual(wordsOf(await runLines(deps, "partners", lines, "apply")), [
			"2 already",
			"3 already",
			"4 already",
		]);
		deepEqual(await db.selectFrom("mail_queue").selectAll().execute(), [], "nobody is mailed");
		const { rows } = await listAudit(db, { programmeId: programme.id }, { limit: 10 });
		ok(rows.some(({ action, detail }) => action === "partnership.imported" && detail === "Bergblog"));
	});

	test("commissions for event types are imported with the partnership", async () => {
		const { deps } = await openProgramme("typed");
		const header = `${PARTNERS};event_rates`;
		const lines = [header, 'Typed;;t@typed.example;typed;8+1,00;"LEAD: 5,00 EUR; RENEWAL: 4 %"'];
		deepEqual(wordsOf(await runLines(deps, "partners", lines, "apply")), ["2 change"]);
		deepEqual(wordsOf(await runLines(deps, "partners", lines, "apply")), ["2 already"]);
		const [partner] = await findPartnersByName(database.store.db, ["Typed"]);
		const [partnership] = await listPartnerships(database.store.db, "partner_id", [partner?.id ?? 0]);
		deepEqual(
			[partnership?.commission_rate, partnership?.event_rates],
			["8.0000+1.00", "LEAD=0+5.00;RENEWAL=4"],
		);
		const wrong = [header, 'Wrong;;w@typed.example;typed;8;"LEAD: 5"'];
		match(wordsOf(await runLines(deps, "partners", wrong, "apply"))[0] ?? "", /LEAD: “5” is not a rate/);
	});

	test("a line that differs from the partner here is refused, and nothing is overwritten", async () => {
		const { deps } = await openProgramme("gamma");
		const first = "Gamma Blog;gb.example;g@gb.example;gamma;8";
		await runLines(deps, "partners", [PARTNERS, first], "apply");
		const differing = [
			[
				"Gamma Blog;other.example;g@gb.example;gamma;8",
				/site https:\/\/gb\.example\/ here, https:\/\/other\.example\/ in/,
			],
			["Gamma Blog;gb.example;x@gb.example;gamma;8", /email g@gb\.example here, x@gb\.example in the file/],
			["Gamma Blog;gb.example;g@gb.example;gamma;9", /rate 8 % here, 9 % in the file/],
		] as const;
		for (const [line, detail] of differing) {
			const [word = ""] = wordsOf(await runLines(deps, "partners", [PARTNERS, line], "apply"));
			match(word, /^2 refused: This partner is here already, and differs: /);
			match(word, detail);
		}
		const typed = [`${PARTNERS};event_rates`, 'Gamma Blog;gb.example;g@gb.example;gamma;;"LEAD: 5 EUR"'];
		match(
			wordsOf(await runLines(deps, "partners", typed, "apply"))[0] ?? "",
			/event_rates none here, LEAD: 5\.00 EUR in the file/,
		);
		const silent = await runLines(deps, "partners", [PARTNERS, "Gamma Blog;;g@gb.example;gamma;"], "apply");
		deepEqual(wordsOf(silent), ["2 already"], "empty cells say nothing");
	});

	test("every kind of bad line about a partner is refused with advice", async () => {
		const { db } = database.store;
		const { deps } = await openProgramme("delta");
		const plain = "plain;owner@plain.example;EUR;1;1;1;;;";
		await runLines(deps, "programmes", [PROGRAMMES, plain], "apply");
		const staff = { public_id: newId("usr"), email: "staff@net.example", kind: "staff" as const };
		await insertPerson(db, { ...staff, created_at_ms: START_MS });
		const { partnership } = await addPartner(deps, "ended", "delta");
		const address = { programmeId: partnership.programme_id, publicId: partnership.public_id };
		ok((await changeState(deps, COMMAND_LINE, address, "ended")).ok);
		const bad = [
			[";;a@a.example;delta;", /Enter the partner's name/],
			["A;ftp://a.example;a@a.example;delta;", /Enter the site with https/],
			["B;;nobody;delta;", /"nobody" is not an email address/],
			["C;;c@c.example;nowhere;", /There is no programme “nowhere”/],
			["D;;d@d.example;delta;much", /rate must be a percentage/],
			["E;;e@e.example;;8", /A rate needs a programme/],
			["F;;f@f.example;plain;", /“plain” does not credit partners yet\. Turn that on/],
			["G;;staff@net.example;delta;", /one of the network's staff/],
			["ended;;ended@blog.example;delta;", /partnership of “ended” with “delta” has ended\. Resume it/],
			["H;;h@h.example;delta;8", /Line 12 says something else about the same partnership/],
			["H;;h@h.example;delta;9", /Line 11 says something else about the same partnership/],
			["I;;i@i.example;delta;", /Line 14 says something else about the same partner\./],
			["I;;j@i.example;;", /Line 13 says something else about the same partner\./],
		] as const;
		for (const step of ["preview", "apply"] as const) {
			const words = wordsOf(await runLines(deps, "partners", [PARTNERS, ...bad.map(([line]) => line)], step));
			for (const [index, [line, detail]] of bad.entries()) match(words[index] ?? "", detail, line);
		}
		deepEqual(await findPartnersByName(db, ["A", "B", "C", "D", "E", "F", "G", "H", "I"]), []);
	});

	test("an import that invites mails each partner's person once", async () => {
		const { db } = database.store;
		const { deps } = await openProgramme("epsilon");
		await openProgramme("zeta");
		const { store, clock, random } = deps;
		const keyRing = createKeyRing([createRandom().bytes(SEALING_KEY_BYTES)]);
		const mailer = { send: async () => null };
		const mails = createMailDispatcher({ store, clock, random, log: createLog(), keyRing, mailer });
		const inviting = { mails, publicUrl: "https://network.example" };
		const lines = [
			PARTNERS,
			"Eps;;eps@eps.example;epsilon;",
			"Eps;;eps@eps.example;zeta;",
			"Eps Two;;eps@eps.example;zeta;",
		];
		const went = await runLines({ ...deps, inviting }, "partners", lines, "apply");
		deepEqual(wordsOf(went), [
			"2 change",
			"3 change",
			"4 change: Added without a mail: they have an open invitation, which leads to this partner too.",
		]);
		await mails.stop();
		const sent = await db.selectFrom("mail_queue").select("to_address").execute();
		equal(sent.filter(({ to_address }) => to_address === "eps@eps.example").length, 1);
		await db.deleteFrom("mail_queue").execute();
	});

	test("an imported link answers clicks under its old code, whatever its case", async () => {
		const { deps } = await openProgramme("eta");
		const { partnership } = await addPartner(deps, "etablog", "eta");
		const lines = [
			LINKS,
			"etablog;eta;aB3_x.Y~z-;https://eta.example/sale?a=1#top;Sidebar",
			`${partnership.partner_public_id};${partnership.programme_public_id};_2019;img.cdn.example/;`,
		];
		deepEqual(wordsOf(await runLines(deps, "links", lines, "preview")), ["2 change", "3 change"]);
		deepEqual(wordsOf(await runLines(deps, "links", lines, "apply")), ["2 change", "3 change"]);
		deepEqual(wordsOf(await runLines(deps, "links", lines, "apply")), ["2 already", "3 already"]);
		const links = createPartnerLinkCache({ store: database.store, clock: deps.clock, log: createLog() });
		const link = await links.find("ab3_x.y~z-");
		deepEqual(
			[link?.partnershipId, link?.landing?.href],
			[partnership.id, "https://eta.example/sale?a=1#top"],
		);
		equal((await links.find("_2019"))?.landing?.href, "https://img.cdn.example/");
		const { rows } = await listAudit(
			database.store.db,
			{ programmeId: partnership.programme_id },
			{ limit: 1 },
		);
		equal(rows[0]?.detail, "etablog; links imported: ab3_x.y~z-, _2019");
	});

	test("a link with a taken code, a foreign target or a bad code is refused", async () => {
		const { deps } = await openProgramme("theta");
		const { partner, partnership } = await addPartner(deps, "thetablog", "theta");
		await addPartner(deps, "rival", "theta");
		const staff = await createJobSetup(database).addPerson();
		const address = { partnerId: partner.id, partnershipId: partnership.public_id };
		for (const code of ["own-code", "own-two"]) {
			const own = { name: "", target: "https://theta.example/", code };
			ok((await makePartnerLink(deps, actorOf(staff), address, own)).ok);
		}
		const long = `https://theta.example/${"x".repeat(2_100)}`;
		const bad = [
			["rival;theta;OWN-code;https://theta.example/;", /own-code is taken by “thetablog” in “theta”/],
			[
				"thetablog;theta;own-two;https://theta.example/other;",
				/target https:\/\/theta\.example\/ here, .*other in the file/,
			],
			[
				"thetablog;theta;t1;https://evil.example/;",
				/one of these hosts, without a port: \*\.cdn\.example, theta\.example.*add its host on the Partners page of “theta”/,
			],
			["thetablog;theta;t2;http://theta.example/;", /must begin with https/],
			[`thetablog;theta;t3;${long};`, /must begin with https/],
			["thetablog;theta;../t4;https://theta.example/;", /A link code has at most 64/],
			["thetablog;theta;.t5;https://theta.example/;", /A link code has at most 64/],
			["thetablog;theta;a b;https://theta.example/;", /A link code has at most 64/],
			[`thetablog;theta;${"x".repeat(65)};https://theta.example/;`, /A link code has at most 64/],
			["thetablog;theta;;https://theta.example/;", /A link code has at most 64/],
			["nobody;theta;t6;https://theta.example/;", /There is no partner “nobody”/],
			["thetablog;eta2;t7;https://theta.example/;", /There is no programme “eta2”/],
			[";theta;t8;https://theta.example/;", /The partner is missing/],
			["thetablog;theta;twice;https://theta.example/1;", /Line 16 says something else about the same link/],
			["thetablog;theta;TWICE;https://theta.example/2;", /Line 15 says something else about the same link/],
		] as const;
		for (const step of ["preview", "apply"] as const) {
			const words = wordsOf(await runLines(deps, "links", [LINKS, ...bad.map(([line]) => line)], step));
			for (const [index, [line, detail]] of bad.entries()) {
				match(words[index] ?? "", /refused/);
				match(words[index] ?? "", detail, line);
			}
		}
	});

	test("a long target is stored whole", async () => {
		const { deps } = await openProgramme("iota");
		await addPartner(deps, "iotablog", "iota");
		const target = `https://iota.example/${"x".repeat(1_900)}`;
		await runLines(deps, "links", [LINKS, `iotablog;iota;long;${target};`], "apply");
		const links = createPartnerLinkCache({ store: database.store, clock: deps.clock, log: createLog() });
		equal((await links.find("long"))?.landing?.href, target);
	});

	test("an imported code credits its partner, and a code of another partner is refused by name", async () => {
		const { db } = database.store;
		const { deps, programme } = await openProgramme("kappa");
		const { partnership } = await addPartner(deps, "kappablog", "kappa");
		await addPartner(deps, "kapparival", "kappa");
		const lines = [
			CODES,
			"kappablog;kappa;Berg10",
			"kappablog;kappa;=1+1",
			`kappablog;${programme.public_id};BERG10`,
		];
		deepEqual(wordsOf(await runLines(deps, "codes", lines, "apply")), ["2 change", "3 change", "4 already"]);
		deepEqual(wordsOf(await runLines(deps, "codes", lines, "apply")), [
			"2 already",
			"3 already",
			"4 already",
		]);
		equal((await findByCode(db, programme.id, "BERG10"))?.id, partnership.id);
		const bad = [
			["kapparival;kappa;berg10", /The code berg10 belongs to kappablog already/],
			["kapparival;kappa;", /The code is missing/],
			['kapparival;kappa;"A,B"', /A line has one code/],
			[`kapparival;kappa;${"x".repeat(65)}`, /at most 64 characters/],
			["nobody;kappa;N1", /There is no partner “nobody”/],
		] as const;
		for (const step of ["preview", "apply"] as const) {
			const words = wordsOf(await runLines(deps, "codes", [CODES, ...bad.map(([line]) => line)], step));
			for (const [index, [line, detail]] of bad.entries()) match(words[index] ?? "", detail, line);
		}
		const { rows } = await listAudit(db, { programmeId: programme.id }, { limit: 1 });
		equal(rows[0]?.detail, "kappablog; codes imported: Berg10, =1+1");
	});

	test("a partner gets no more codes than the form of its partnership can show", async () => {
		const { deps } = await openProgramme("lambda");
		const { partnership } = await addPartner(deps, "lambdablog", "lambda");
		const codes = Array.from({ length: MAX_CODES + 2 }, (_, at) => `lambdablog;lambda;L${at}`);
		const { summary, rows } = await runLines(deps, "codes", [CODES, ...codes], "apply");
		deepEqual(summary.counts, { change: MAX_CODES, already: 0, refused: 2 });
		match(rows.at(-1)?.verdict.detail ?? "", /lambdablog has 200 codes in this programme/);
		equal((await listCodes(database.store.db, [partnership.id])).length, MAX_CODES);
	});

	test("partners with the same name are told apart by site or person, or the ID must be written", async () => {
		const { db } = database.store;
		const { deps } = await openProgramme("mu");
		await addPartner(deps, "twin", "mu");
		await db
			.insertInto("partners")
			.values({
				public_id: newId("ptn"),
				name: "twin",
				site: "https://two.example/",
				created_at_ms: START_MS,
			})
			.execute();
		const lines = [PARTNERS, "twin;;twin@blog.example;mu;", "twin;;x@x.example;mu;9"];
		const [same, several = ""] = wordsOf(
			await runLines(deps, "partners", [PARTNERS, lines[1] ?? ""], "apply"),
		).concat(wordsOf(await runLines(deps, "partners", [PARTNERS, lines[2] ?? ""], "apply")));
		equal(same, "2 already");
		match(several, /Several partners are called “twin” here/);
		const [code = ""] = wordsOf(await runLines(deps, "codes", [CODES, "twin;mu;T1"], "apply"));
		match(code, /Several partners are called “twin”\. Write the ID/);
	});
});
