// `ringback doctor`: looks at everything the service needs, and says what to do about what is missing.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Config, type Environment, readConfig, warningSettings } from "../config.ts";
import { findClockWarnings, findSettingWarnings, judgeClockOffset } from "../domain/warning.ts";
import type { Workplace } from "../service/workplace.ts";
import { MIGRATIONS } from "../store/migrations.ts";
import { readSchema, SchemaTooNewError } from "../store/schema-state.ts";
import { measureClockOffset } from "../store/server-clock.ts";
import { readSystem } from "../store/system.ts";
import { type Command, EXIT, JSON_OPTION } from "./command.ts";
import { examineChores } from "./doctor-chores.ts";
import { examineDelivery } from "./doctor-delivery.ts";
import { examineInstallation } from "./doctor-installation.ts";
import { examineNetwork } from "./doctor-network.ts";
import { examinePostgres } from "./doctor-postgres.ts";
import { type Finding, messageOf, ok, problem, sayFinding, warning } from "./finding.ts";

/** A name that exists as long as the Internet does (RFC 2606 reserves it, IANA serves it). */
const PROBE_NAME = "example.com";

export const doctorCommand: Command = {
	name: "doctor",
	summary:
		"Checks settings, database, schema, the network's name and brand, chores, whether callbacks are paused, clock, DNS, mail and the archive's folder. Exits 1 when something would not work. Rows are not compared: `ringback verify` does that.",
	options: { json: JSON_OPTION },
	async run(options, screen, environment) {
		const findings = await examine(environment);
		for (const finding of findings) sayFinding(screen, finding, options.flag("json"));
		return findings.some((finding) => finding.state === "problem") ? EXIT.failed : EXIT.ok;
	},
};

async function examine(environment?: Environment): Promise<Finding[]> {
	const { openWorkplace, StartError } = await import("../service/workplace.ts");
	const read = readConfig(environment);
	if (!read.ok) return read.problems.map((detail) => problem("settings", detail));
	const settings = ok("settings", sayEnvironment(read.config));
	const { database } = read.config;
	if (database.kind === "sqlite" && !existsSync(database.path)) {
		const detail = `there is no file ${resolve(database.path)} yet: \`ringback serve\` makes it`;
		const elsewhere = await openWorkplace(
			{ ...read.config, database: { kind: "sqlite", path: ":memory:" }, logLevel: "silent" },
			{ schema: "inspect" },
		);
		return [settings, warning("database", detail), ...(await examineSurroundings(elsewhere))];
	}
	let workplace: Workplace;
	try {
		workplace = await openWorkplace({ ...read.config, logLevel: "silent" }, { schema: "inspect" });
	} catch (error) {
		if (error instanceof StartError) return [problem("settings", error.message)];
		const cure = "Check DATABASE_URL, and that the database runs and lets this account in.";
		return [settings, problem("database", `${messageOf(error)}. ${cure}`)];
	}
	const name = database.kind === "sqlite" ? resolve(database.path) : database.kind;
	const schema = await checkSchema(workplace);
	const server = database.kind === "sqlite" ? [] : await examinePostgres(database, workplace);
	const { store, migration } = workplace;
	const network = migration.version === 0 ? [] : [await examineNetwork(store, read.config)];
	const system = migration.version === 0 ? [] : await examineSystem(workplace);
	return [
		settings,
		ok("database", `${name} answers`),
		schema,
		...server,
		...network,
		...system,
		...(await examineSurroundings(workplace)),
	];
}

/** What the System page shows, too. */
async function examineSystem({ store, clock, config, readDisk }: Workplace): Promise<Finding[]> {
	const nowMs = clock.nowMs();
	const reading = await readSystem(store, nowMs);
	return [
		...examineChores(reading.chores, reading.processes, nowMs),
		...examineInstallation({ ...reading, disk: await readDisk() }, nowMs),
		await examineDelivery(store, config, nowMs),
	];
}

function sayEnvironment({ environment }: Config): string {
	if (environment === "production") return "all settings can be read, and all that production needs is there";
	return "all settings can be read (set RINGBACK_ENV=production where real shops are served: it then insists on what they need)";
}

/** What does not depend on the database's contents. Closes the workplace. */
async function examineSurroundings(workplace: Workplace): Promise<Finding[]> {
	try {
		return [
			await checkClock(workplace),
			await checkDns(workplace),
			await checkMail(workplace),
			...(await checkArchive(workplace)),
			...checkWarnings(workplace),
		];
	} finally {
		await workplace.close();
	}
}

async function checkSchema({ store, config, migration: { version } }: Workplace): Promise<Finding> {
	const known = MIGRATIONS.length;
	if (version === known) return ok("schema", `version ${known} is current`);
	const oldestProgram = version > known ? (await readSchema(store.db)).oldestProgram : 0;
	if (oldestProgram > known) {
		return problem("schema", new SchemaTooNewError(version, oldestProgram, known).message);
	}
	const start = config.migrate === "auto" ? ", or just start it" : "";
	const cure = version < known ? `run \`ringback migrate\`${start}` : "upgrade the program soon";
	return warning("schema", `the database has version ${version}, this program knows ${known}: ${cure}`);
}

/** Against the database server's clock: leases are by the clock. */
async function checkClock({ store, clock }: Workplace): Promise<Finding> {
	const year = new Date(clock.nowMs()).getUTCFullYear();
	if (year < 2026) return problem("clock", `this machine believes it is ${year}: set its clock (NTP)`);
	const offsetMs = await measureClockOffset(store, clock);
	if (offsetMs === null) return ok("clock", "the date is plausible");
	const [found] = findClockWarnings(offsetMs);
	if (found === undefined) return ok("clock", `${Math.abs(offsetMs)} ms from the database server's clock`);
	const say = judgeClockOffset(offsetMs) === "problem" ? problem : warning;
	return say("clock", `${found.title}. ${found.text}`);
}

async function checkDns({ transport }: Workplace): Promise<Finding> {
	const found = await transport.lookUp(PROBE_NAME);
	if (found.ok) return ok("dns", `${PROBE_NAME} is ${found.addresses.join(", ")}`);
	const detail = `${PROBE_NAME} cannot be looked up (${found.code}): callbacks to host names will fail until DNS works`;
	return problem("dns", detail);
}

async function checkMail({ mailer }: Workplace): Promise<Finding> {
	if (mailer === null) {
		return warning("mail", "off: set SMTP_URL and MAIL_FROM to tell owners of failed callbacks");
	}
	try {
		await mailer.verify();
		return ok("mail", "the mail server lets us in");
	} catch (error) {
		return problem("mail", `the mail server refused: ${messageOf(error)}`);
	}
}

/** A process of role web writes none. */
async function checkArchive({ config: { archiving, role } }: Workplace): Promise<Finding[]> {
	if (archiving.folder === null || role === "web") return [];
	const { findArchiveProblem } = await import("../service/archive.ts");
	const found = findArchiveProblem(archiving.folder);
	return [
		found === null ? ok("archive", `${resolve(archiving.folder)} takes files`) : problem("archive", found),
	];
}

/** Mail has a check of its own, which also asks the mail server. How people come to us cannot be known here. */
function checkWarnings({ config }: Workplace): Finding[] {
	return findSettingWarnings(warningSettings(config), undefined).flatMap(({ kind, title, text }) => {
		if (kind === "mail_off") return [];
		return [warning(kind === "private_ranges" ? "addresses" : "public-url", `${title}. ${text}`)];
	});
}
