// `ringback doctor` checks everything that the service needs, and says how to solve each problem.

import { resolve } from "node:path";
import { sayBytes } from "#core/domain/bytes.ts";
import { sayOtherBrand } from "#core/domain/network.ts";
import { isSilent, sumEngines } from "#core/domain/process.ts";
import { DAY_MS, isoTime } from "#core/domain/time.ts";
import { messageOf } from "#core/domain/visible-text.ts";
import type { Warning } from "#core/domain/warning.ts";
import { refuseSchema } from "#core/store/open.ts";
import { canListen, readServer, type ServerFacts } from "#core/store/postgres/doctor.ts";
import type { PostgresSetting } from "#core/store/postgres/setting.ts";
import { readFigures } from "#core/store/queries/figures.ts";
import { findNetwork } from "#core/store/queries/network.ts";
import { NOTHING_READ, readSystem, type SystemReading } from "#core/store/queries/system.ts";
import { findSchema, MIGRATIONS, type PresentSchema } from "#core/store/schema/migrations.ts";
import type { Db, Store } from "#core/store/store.ts";
import { COMPANY_RETURN_PATH } from "#core/web/paths.ts";
import { type Config, type Environment, readConfig, warningSettings } from "../config.ts";
import type { Workplace } from "../service/workplace.ts";
import { CHECKS, findWarnings, type WatchedState } from "../watch/checks.ts";
import { type Command, type Finding, JSON_OPTION, ok, problem, sayFindings, warning } from "./command.ts";

/** Host name that always resolves on the Internet (reserved by RFC 2606, served by IANA). */
const PROBE_NAME = "example.com";

export const doctorCommand: Command = {
	name: "doctor",
	summary:
		"Checks settings, database, schema, sealing keys, the network's name and brand, chores, whether callbacks are held, clock, DNS, mail and the identity provider. Exits with 1 if something would not work. It does not check the rows of the ledger. `ringback verify` does that.",
	options: { json: JSON_OPTION },
	run: async (options, screen, environment) =>
		sayFindings(screen, await examine(environment), options.flag("json")),
};

async function examine(environment?: Environment): Promise<Finding[]> {
	const { openWorkplace } = await import("../service/workplace.ts");
	const { StartError } = await import("../service/start-error.ts");
	const { stateOfFile } = await import("#core/store/sqlite/file.ts");
	const read = readConfig(environment);
	if (!read.ok) return read.problems.map((detail) => problem("settings", detail));
	const settings = [ok("settings", sayEnvironment(read.config))];
	const { database } = read.config;
	const isMissing = database.kind === "sqlite" && ["missing", "empty"].includes(stateOfFile(database.path));
	let workplace: Workplace;
	try {
		workplace = await openWorkplace(
			{ ...read.config, logLevel: "silent", ...(isMissing ? { database: ELSEWHERE } : {}) },
			{ schema: "inspect" },
		);
	} catch (error) {
		if (error instanceof StartError) return [problem("settings", error.message)];
		const cure = "Check DATABASE_URL, and that the database runs and lets this account in.";
		return [...settings, problem("database", `${messageOf(error)}. ${cure}`)];
	}
	try {
		const name = database.kind === "sqlite" ? resolve(database.path) : database.kind;
		const schema = await findSchema(workplace.store.db);
		const refusal = isMissing ? null : findRefusal(schema, read.config);
		const known = MIGRATIONS.length;
		// If the database has another schema version, this program cannot read its tables.
		const bare: SystemReading | null =
			refusal === null && schema.version >= known
				? null
				: { ...NOTHING_READ, schema: { version: isMissing ? known : schema.version, known } };
		const installation = await examineInstallation(workplace, bare);
		return [
			...settings,
			isMissing
				? warning("database", `there is no database ${name} yet: \`ringback serve\` makes it`)
				: ok("database", `${name} answers`),
			...(database.kind === "sqlite" ? [] : await examinePostgres(database, workplace)),
			...(bare === null ? [await examineNetwork(workplace.store, read.config)] : []),
			...(bare === null ? await examineKeys(workplace) : []),
			...(refusal === null ? [] : [problem("schema", refusal)]),
			...installation.filter(({ check }) => refusal === null || check !== "schema"),
			await checkDns(workplace),
			...(await checkMail(workplace)),
			...(await checkProvider(workplace)),
		];
	} finally {
		await workplace.close();
	}
}

/**
 * Settings of an empty database in memory. The command opens this database instead of a missing or empty SQLite file,
 * because opening that file would create it or write into it.
 */
const ELSEWHERE = { kind: "sqlite", path: ":memory:" } as const;

/**
 * Returns a line with the names of the settings that were checked, because a shell may have other settings
 * than the service.
 */
function sayEnvironment({ environment, givenSettings }: Config): string {
	const whose =
		givenSettings.length === 0
			? "None is set in the environment of this command: run it with those of the service."
			: `These are set in the environment of this command: ${givenSettings.join(", ")}.`;
	const isProduction = environment === "production";
	return `all settings can be read${isProduction ? ", and all that production needs is there" : " (set RINGBACK_ENV=production where real shops are served: it then insists on what they need)"}. ${whose}`;
}

/**
 * Returns the reason why a service with these settings would refuse this schema, or null if it would start.
 */
function findRefusal(schema: PresentSchema, { migrate }: Config): string | null {
	try {
		refuseSchema(schema, migrate === "auto" ? "migrate" : "check");
		return null;
	} catch (error) {
		return messageOf(error);
	}
}

/**
 * Returns the warnings of the System page, and a line for each check that passed. If `bare` is given, no
 * tables are read.
 */
async function examineInstallation(workplace: Workplace, bare: SystemReading | null): Promise<Finding[]> {
	const { store, clock, config, readDisk, certificates } = workplace;
	const nowMs = clock.nowMs();
	const state: WatchedState = {
		...(bare ?? (await readSystem(store.db, nowMs))),
		nowMs,
		processesAtMs: nowMs,
		settings: warningSettings(config),
		// This command cannot know the address under which people reach the service.
		host: undefined,
		sightings: [],
		clockOffsetMs: clock.offsetMs(),
		disk: await readDisk(),
		certificates: await certificates.read(),
	};
	const found = findWarnings(state).map(describeWarning);
	const well = [
		describeClock(state),
		...describeCertificates(state),
		...(bare === null ? await describeWell(state, store) : []),
	];
	// For a check that found a problem, the report has only the problem, without a line that says "ok".
	return [
		...well.filter(({ check, state: how }) => how !== "ok" || found.every((other) => other.check !== check)),
		...found,
	];
}

function describeWarning({ kind, about, title, text }: Warning): Finding {
	const area = CHECKS.find((check) => check.kind === kind)?.area ?? kind;
	const say = kind === "clock_off" && about === "problem" ? problem : warning;
	// These two warnings depend on the settings, and a running service may have other settings.
	const isOfSettings = kind === "mail_off" || kind === "no_public_url";
	const whose = isOfSettings ? " (By the settings of this command, see above.)" : "";
	return say(area, `${title}. ${text}${whose}`);
}

function describeClock({ clockOffsetMs, nowMs }: WatchedState): Finding {
	const year = new Date(nowMs).getUTCFullYear();
	if (year < 2026) return problem("clock", `it is ${year} by the clock: set it by NTP`);
	if (clockOffsetMs === null) return ok("clock", "the date is plausible");
	return ok("clock", `${Math.abs(clockOffsetMs)} ms from the database server's clock`);
}

function describeCertificates({ certificates, nowMs }: WatchedState): Finding[] {
	return certificates.map((reading) => {
		const whose = `${reading.name} (${reading.setting})`;
		if ("failure" in reading) {
			return ok(
				"certificates",
				`not checked: this machine does not reach ${whose}, which says ${reading.failure}`,
			);
		}
		const days = Math.floor((reading.endsAtMs - nowMs) / DAY_MS);
		return ok("certificates", `the one of ${whose} ends in ${days} days, at ${isoTime(reading.endsAtMs)}`);
	});
}

async function describeWell(state: WatchedState, store: Store): Promise<Finding[]> {
	const { schema, processes, chores, disk, nowMs } = state;
	const { queued, databaseBytes } = await readFigures(store, nowMs);
	const alive = processes.filter((record) => !isSilent(record, nowMs));
	const names = alive.map(
		({ role, instance, host, version }) => `${role} ${instance} on ${host} (${version})`,
	);
	const hasWorker = alive.some(({ role }) => role !== "web");
	const done = hasWorker ? "all are done on time" : "none is late yet; they go on once a worker runs";
	const oldestDueAtMs = sumEngines(processes, nowMs)?.oldestDueAtMs ?? null;
	const due = oldestDueAtMs === null ? "" : `, the oldest due since ${isoTime(oldestDueAtMs)}`;
	const free = disk === null ? "" : `; ${sayBytes(disk.freeBytes)} of its disk are free`;
	return [
		ok("schema", `version ${schema.known} is current`),
		ok("chores", chores.length === 0 ? "none has begun yet" : done),
		alive.length === 0
			? warning(
					"processes",
					"No process is running: pages and API are down, and no callbacks are sent. Start the service: `ringback serve`.",
				)
			: ok("processes", `running: ${names.join(", ")}`),
		ok("queue", `${queued === 1 ? "1 callback waits" : `${queued} callbacks wait`}${due}`),
		ok("disk", `the database has ${sayBytes(databaseBytes)}${free}`),
		describeBackups(state),
		ok("delivery", "callbacks are not held"),
	];
}

function describeBackups({ backups: { last }, settings: { backupDays } }: WatchedState): Finding {
	if (last !== null) {
		const size = last.bytes === null ? "" : `, ${sayBytes(last.bytes)}`;
		return ok("backup", `the last has everything that was stored by ${isoTime(last.atMs)}${size}`);
	}
	return ok(
		"backup",
		backupDays === null
			? "none is known, and RINGBACK_BACKUP_DAYS=off says that this is meant"
			: `none is known yet; a warning follows when the database is ${backupDays === 1 ? "a day" : `${backupDays} days`} old`,
	);
}

async function checkDns({ transport }: Workplace): Promise<Finding> {
	const found = await transport.lookUp(PROBE_NAME);
	if (found.ok) return ok("dns", `${PROBE_NAME} is ${found.addresses.join(", ")}`);
	// This is only a warning, because some networks resolve only the names of their shops.
	return warning(
		"dns",
		`${PROBE_NAME} cannot be looked up (${found.code}). If the names of shops cannot be either, their callbacks fail until DNS works`,
	);
}

async function checkMail({ mailer }: Workplace): Promise<Finding[]> {
	if (mailer === null) return [];
	try {
		await mailer.verify();
		return [ok("mail", "the mail server lets us in")];
	} catch (error) {
		return [problem("mail", `the mail server refused: ${messageOf(error)}`)];
	}
}

async function checkProvider({ companySignIn, publicUrl }: Workplace): Promise<Finding[]> {
	if (companySignIn === null) return [];
	const { provider, isRequiredForStaff } = companySignIn;
	const answer = await provider.check();
	if (answer.ok) {
		const detail = `${provider.issuer} answers. It must know ${publicUrl}${COMPANY_RETURN_PATH} as the redirect address of this service`;
		return [ok("provider", detail)];
	}
	const consequence = isRequiredForStaff
		? "Staff cannot sign in until it works; `ringback user link --bypass-company-sign-in` lets one of them in."
		: "People cannot sign in with the company's account until it works.";
	return [problem("provider", `${answer.reason}. ${consequence} Check RINGBACK_OIDC_ISSUER.`)];
}

async function examinePostgres(setting: PostgresSetting, workplace: Workplace): Promise<Finding[]> {
	const { db } = workplace.store;
	const server = await readServer(db);
	return [
		await checkListen(setting, db),
		checkTimeouts(setting, server),
		checkConnections(setting, server),
		...(server.hasAutovacuum ? [] : [warning("autovacuum", AUTOVACUUM_OFF)]),
	];
}

/** Checks whether the keys in the settings open all sealed values, and whether one of the keys is no longer needed. */
async function examineKeys(workplace: Workplace): Promise<Finding[]> {
	const { planRekey, sumCounts } = await import("../service/rekey.ts");
	const { presentId, nextId, sealed, former, unopened } = await planRekey(workplace);
	const unread = sumCounts(unopened);
	const findings: Finding[] = [];
	if (unread > 0) {
		findings.push(
			problem(
				"key",
				`${unread} of ${sealed} sealed values open with no key that is known here. If the key was replaced, set the former one as RINGBACK_FORMER_SECRET_KEY, and run \`ringback rekey\``,
			),
		);
	}
	const { secretKey, formerSecretKey } = workplace.config;
	if (secretKey !== null && nextId !== presentId) {
		const detail = `the key ${presentId} seals, and RINGBACK_SECRET_KEY is the key ${nextId}. When every process has both, run \`ringback rekey\``;
		findings.push(warning("key", detail));
	} else if (former > 0) {
		findings.push(
			warning("key", `${former} values are still sealed by a former key. Run \`ringback rekey\` to its end`),
		);
	} else if (formerSecretKey !== null && unread === 0) {
		findings.push(
			warning(
				"key",
				"nothing is sealed by a former key. Remove RINGBACK_FORMER_SECRET_KEY from the settings of every process",
			),
		);
	}
	return findings.length > 0
		? findings
		: [ok("key", `the key ${presentId} opens all ${sealed} sealed values`)];
}

const AUTOVACUUM_OFF =
	"autovacuum is off, or track_counts, which it needs: dead rows slow the queue down more every day, and new order IDs make sales wait for the search index. Set both on in postgresql.conf and reload the server.";

async function checkListen(setting: PostgresSetting, db: Db): Promise<Finding> {
	const address = setting.directUrl === null ? "DATABASE_URL" : "RINGBACK_DATABASE_DIRECT_URL";
	try {
		if (await canListen(setting, db)) return ok("listen", `LISTEN works at ${address}`);
	} catch (error) {
		return problem("listen", `${messageOf(error)}. Check ${address}.`);
	}
	return problem(
		"listen",
		`LISTEN does not work at ${address}, which leads to a pooler in transaction mode: callbacks from other processes would wait for the next look, up to five seconds. Set RINGBACK_DATABASE_DIRECT_URL to the PostgreSQL server itself.`,
	);
}

function checkTimeouts(
	{ directUrl }: PostgresSetting,
	{ statementTimeoutMs: timeoutMs }: ServerFacts,
): Finding {
	if (timeoutMs > 0) return ok("timeouts", `the server ends a statement of ours after ${timeoutMs / 1000} s`);
	const where = directUrl === null ? "" : " outside a transaction";
	return warning(
		"timeouts",
		`the server lets a statement${where} run for ever. For the account in DATABASE_URL run: alter role … set statement_timeout = '15s'`,
	);
}

function checkConnections(
	{ poolSize, directUrl }: PostgresSetting,
	{ maxConnections, connections }: ServerFacts,
): Finding {
	// With a connection pooler, only the connection for LISTEN goes directly to the server.
	const needed = (directUrl === null ? poolSize : 0) + 1;
	const detail = `${connections} of ${maxConnections} are in use; a process takes up to ${needed}`;
	if (needed <= maxConnections - connections) return ok("connections", detail);
	return warning(
		"connections",
		`${detail}, more than there are left. Lower RINGBACK_DATABASE_POOL, raise max_connections, or put PgBouncer in between.`,
	);
}

/**
 * Checks whether the network has a name, and whether the brand in the settings is the one that shops know.
 */
async function examineNetwork({ db }: Store, { brand: given }: Config): Promise<Finding> {
	const { name, brand, brand_is_fixed } = await findNetwork(db);
	const isOther = given !== null && brand !== null && given !== brand;
	if (isOther && brand_is_fixed === 1) return problem("network", sayOtherBrand(brand));
	const shown = given ?? brand;
	if (shown === null) {
		return warning(
			"network",
			"the brand in header names is not chosen yet: choose it in the set-up, or set RINGBACK_BRAND, before a shop gets an API key. It stays from then on",
		);
	}
	if (name === null) {
		return warning("network", `it has no name yet: enter one under Network. Headers are named X-${shown}-…`);
	}
	return ok("network", `${name}; headers are named X-${shown}-…`);
}
