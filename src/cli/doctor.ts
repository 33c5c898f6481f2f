// `ringback doctor`: looks at everything the service needs, and says what to do about what is missing.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Config, type Environment, readConfig, warningSettings } from "../config.ts";
import { sayBytes } from "../domain/bytes.ts";
import { CHORES, type ChoreRecord, describeLateness, isLate, lateSinceMs } from "../domain/chore.ts";
import { sayOtherBrand } from "../domain/network.ts";
import { isSilent, type ProcessRecord, sumEngines } from "../domain/process.ts";
import { isoTime, MINUTE_MS } from "../domain/time.ts";
import {
	findClockWarnings,
	findPauseWarnings,
	findSettingWarnings,
	type Warning,
} from "../domain/warning.ts";
import type { Workplace } from "../service/workplace.ts";
import {
	canListen,
	readServerState,
	readStatementTimeout,
	type ServerState,
} from "../store/postgres/doctor.ts";
import type { PostgresSetting } from "../store/postgres/setting.ts";
import { readPause } from "../store/queries/delivery-pause.ts";
import { findNetwork } from "../store/queries/network.ts";
import { readSystem, type SystemReading } from "../store/queries/system.ts";
import { MIGRATIONS, readSchema, SchemaTooNewError } from "../store/schema/migrations.ts";
import type { Db, Store } from "../store/store.ts";
import { findSystemWarnings, type SystemState } from "../watch/system-warning.ts";
import { type Command, EXIT, JSON_OPTION } from "./command.ts";
import { type Finding, messageOf, ok, problem, sayFinding, warning } from "./finding.ts";

/** A name that exists as long as the Internet does (RFC 2606 reserves it, IANA serves it). */
const PROBE_NAME = "example.com";

export const doctorCommand: Command = {
	name: "doctor",
	summary:
		"Checks settings, database, schema, the network's name and brand, chores, whether callbacks are paused, clock, DNS and mail. Exits 1 when something would not work. Rows are not compared: `ringback verify` does that.",
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
	const settings = [
		ok("settings", sayEnvironment(read.config)),
		...read.config.formerSettings.map((sentence) => warning("settings", sentence)),
	];
	const { database } = read.config;
	if (database.kind === "sqlite" && !existsSync(database.path)) {
		const detail = `there is no file ${resolve(database.path)} yet: \`ringback serve\` makes it`;
		const elsewhere = await openWorkplace(
			{ ...read.config, database: { kind: "sqlite", path: ":memory:" }, logLevel: "silent" },
			{ schema: "inspect" },
		);
		return [...settings, warning("database", detail), ...(await examineSurroundings(elsewhere))];
	}
	let workplace: Workplace;
	try {
		workplace = await openWorkplace({ ...read.config, logLevel: "silent" }, { schema: "inspect" });
	} catch (error) {
		if (error instanceof StartError) return [problem("settings", error.message)];
		const cure = "Check DATABASE_URL, and that the database runs and lets this account in.";
		return [...settings, problem("database", `${messageOf(error)}. ${cure}`)];
	}
	const name = database.kind === "sqlite" ? resolve(database.path) : database.kind;
	const schema = await checkSchema(workplace);
	const server = database.kind === "sqlite" ? [] : await examinePostgres(database, workplace);
	const { store, migration } = workplace;
	const network = migration.version === 0 ? [] : [await examineNetwork(store, read.config)];
	const system = migration.version === 0 ? [] : await examineSystem(workplace);
	return [
		...settings,
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
			checkClock(workplace),
			await checkDns(workplace),
			await checkMail(workplace),
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

/** Against the database server's clock, where there is one. */
function checkClock({ clock }: Workplace): Finding {
	const offsetMs = clock.offsetMs();
	const [found] = findClockWarnings(offsetMs);
	const say = clock.isSure() ? warning : problem;
	if (found !== undefined) return say("clock", `${found.title}. ${found.text}`);
	const year = new Date(clock.nowMs()).getUTCFullYear();
	if (year < 2026) return problem("clock", `it is ${year} by the clock: set it by NTP`);
	if (offsetMs === null) return ok("clock", "the date is plausible");
	return ok("clock", `${Math.abs(offsetMs)} ms from the database server's clock`);
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

/** Mail has a check of its own, which also asks the mail server. How people come to us cannot be known here. */
function checkWarnings({ config }: Workplace): Finding[] {
	return findSettingWarnings(warningSettings(config), undefined).flatMap(({ kind, title, text }) => {
		if (kind === "mail_off") return [];
		return [warning(kind === "private_ranges" ? "addresses" : "public-url", `${title}. ${text}`)];
	});
}

/** While one is open, no dead row that it could still see is cleared away, in any table. */
const LONG_TRANSACTION_MS = 5 * MINUTE_MS;

async function examinePostgres(setting: PostgresSetting, workplace: Workplace): Promise<Finding[]> {
	const { db } = workplace.store;
	const state = await readServerState(db);
	return [
		await checkListen(setting, db),
		await checkTimeouts(setting, db),
		checkConnections(setting, state),
		checkTransactions(state),
		checkVacuum(state),
	];
}

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

async function checkTimeouts({ directUrl }: PostgresSetting, db: Db): Promise<Finding> {
	const timeoutMs = await readStatementTimeout(db);
	if (timeoutMs > 0) return ok("timeouts", `the server ends a statement of ours after ${timeoutMs / 1000} s`);
	const where = directUrl === null ? "" : " outside a transaction";
	return warning(
		"timeouts",
		`the server lets a statement${where} run for ever. For the account in DATABASE_URL run: alter role … set statement_timeout = '15s'`,
	);
}

function checkConnections(
	{ poolSize, directUrl }: PostgresSetting,
	{ maxConnections, connections }: ServerState,
): Finding {
	// Behind a pooler only the one that listens comes to the server itself.
	const needed = (directUrl === null ? poolSize : 0) + 1;
	const detail = `${connections} of ${maxConnections} are in use; a process takes up to ${needed}`;
	if (needed <= maxConnections - connections) return ok("connections", detail);
	return warning(
		"connections",
		`${detail}, more than there are left. Lower RINGBACK_DATABASE_POOL, raise max_connections, or put PgBouncer in between.`,
	);
}

function checkTransactions({ oldestTransactionMs }: ServerState): Finding {
	const minutes = Math.floor((oldestTransactionMs ?? 0) / MINUTE_MS);
	if ((oldestTransactionMs ?? 0) < LONG_TRANSACTION_MS)
		return ok("transactions", "none has been open for long");
	return warning(
		"transactions",
		`one has been open for ${minutes} minutes, and keeps dead rows from being cleared away. Find it: select pid, application_name, state, query from pg_stat_activity order by xact_start`,
	);
}

function checkVacuum({ vacuumsByItself, bloated }: ServerState): Finding {
	if (!vacuumsByItself)
		return warning("vacuum", "autovacuum is off: turn it on, or every query becomes slower");
	if (bloated.length === 0) return ok("vacuum", "autovacuum is on and keeps up");
	const names = bloated.map(({ table, deadRows }) => `${table} (${deadRows})`).join(", ");
	return warning("vacuum", `more dead rows than living ones in ${names}. Run: vacuum analyze`);
}

/** Whether the network has said what it is called, and whether the setting agrees with what its shops know. */
async function examineNetwork({ db }: Store, { brand: given }: Config): Promise<Finding> {
	const { name, brand, secret_id } = await findNetwork(db);
	const isOther = given !== null && brand !== null && given !== brand;
	if (isOther && secret_id !== null) return problem("network", sayOtherBrand(brand));
	const shown = given ?? brand;
	if (shown === null) {
		return warning(
			"network",
			"the brand in header names is not chosen yet: choose it in the set-up, or set RINGBACK_BRAND, before the first API key is issued. It stays from then on",
		);
	}
	if (name === null) {
		return warning("network", `it has no name yet: enter one under Network. Headers are named X-${shown}-…`);
	}
	return ok("network", `${name}; headers are named X-${shown}-…`);
}

/** Which chores are late, and what that means while a worker runs and while none does. */
export function examineChores(
	records: readonly ChoreRecord[],
	processes: readonly ProcessRecord[],
	nowMs: number,
): Finding[] {
	const late = records.filter((record) => isLate(record, nowMs));
	const hasWorker = processes.some((record) => record.role !== "web" && !isSilent(record, nowMs));
	if (records.length === 0) return [ok("chores", "none has begun yet")];
	if (late.length === 0) {
		return [
			ok("chores", hasWorker ? "all are done on time" : "none is late yet; they go on once a worker runs"),
		];
	}
	// Those that nobody does: one line for them all.
	const left = late.filter(({ failures }) => failures === 0);
	const isOneLine = left.length > (hasWorker ? 1 : 0);
	const single = isOneLine ? late.filter(({ failures }) => failures > 0) : late;
	return [...(isOneLine ? [describeLeft(left, hasWorker)] : []), ...single.map(describeOne)];
}

function describeOne(record: ChoreRecord): Finding {
	const since = isoTime(lateSinceMs(record));
	const { undone } = CHORES[record.name];
	return warning("chores", `${record.name} is late since ${since}. ${undone}. ${describeLateness(record)}`);
}

function describeLeft(left: readonly ChoreRecord[], hasWorker: boolean): Finding {
	const since = isoTime(Math.min(...left.map(lateSinceMs)));
	const lastMs = Math.max(...left.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));
	const last = lastMs === 0 ? "No run has ever succeeded" : `The last success was at ${isoTime(lastMs)}`;
	const names = left.map(({ name }) => name).join(", ");
	const cause = hasWorker
		? "A worker runs: unless it has just started, they hang. Read its log."
		: "No worker runs. They are done once you start one: `ringback serve` with RINGBACK_ROLE=all or worker.";
	const late = left.length === 1 ? "is late since" : "are late, the first since";
	return warning("chores", `${names} ${late} ${since}. ${last}. ${cause}`);
}

/** The installation as a whole, as the System page shows it. */
type Installation = SystemReading & SystemState;

/** The schema has a check of its own. */
const CHECKS: Partial<Record<Warning["kind"], string>> = {
	no_worker: "processes",
	process_silent: "processes",
	mixed_versions: "processes",
	queue_overdue: "queue",
	disk_filling: "disk",
	backup_old: "backup",
	mail_failing: "mail",
};

function examineInstallation(state: Installation, nowMs: number): Finding[] {
	const warnings = findSystemWarnings(state, nowMs).flatMap(({ kind, title, text }) => {
		const check = CHECKS[kind];
		return check === undefined ? [] : [warning(check, `${title}. ${text}`)];
	});
	const sound = [
		describeProcesses(state, nowMs),
		ok("queue", describeQueue(state, nowMs)),
		ok("disk", describeDisk(state)),
		...describeBackup(state),
	];
	// What is well is not said beside a warning of the same check.
	const said = sound.filter(
		({ check, state: found }) => found !== "ok" || warnings.every((other) => other.check !== check),
	);
	return [...said, ...warnings];
}

function describeProcesses({ processes }: Installation, nowMs: number): Finding {
	const alive = processes.filter((record) => !isSilent(record, nowMs));
	if (alive.length === 0) {
		return warning(
			"processes",
			"No process is running: pages and API are down, and no callbacks are sent. Start the service: `ringback serve`.",
		);
	}
	const names = alive.map(
		({ role, instance, host, version }) => `${role} ${instance} on ${host} (${version})`,
	);
	return ok("processes", `running: ${names.join(", ")}`);
}

function describeQueue({ figures, processes }: Installation, nowMs: number): string {
	const oldestDueAtMs = sumEngines(processes, nowMs)?.oldestDueAtMs ?? null;
	const due = oldestDueAtMs === null ? "" : `, the oldest due since ${isoTime(oldestDueAtMs)}`;
	return `${figures.queued} callbacks wait${due}`;
}

function describeDisk({ figures, disk }: Installation): string {
	const size = `the database has ${sayBytes(figures.databaseBytes)}`;
	return disk === null ? size : `${size}; ${sayBytes(disk.freeBytes)} of its disk are free`;
}

/** Nothing is said of what we do not make: PostgreSQL's own programs do, and some copy disks. */
function describeBackup({ backedUpAtMs }: Installation): Finding[] {
	if (backedUpAtMs === null) return [];
	return [ok("backup", `the last has everything that was stored by ${isoTime(backedUpAtMs)}`)];
}

/** Whether callbacks go out, or are held on purpose. */
async function examineDelivery({ db }: Store, { delivery }: Config, nowMs: number): Promise<Finding> {
	const [paused] = findPauseWarnings(await readPause(db, nowMs));
	if (paused !== undefined) {
		const next = delivery === "on" ? " RINGBACK_DELIVERY is on here: the next start lets them go." : "";
		return warning("delivery", `${paused.title}. ${paused.text}${next}`);
	}
	if (delivery === "on") return ok("delivery", "callbacks are not paused");
	return warning("delivery", "RINGBACK_DELIVERY is paused: from the next start on no callback is sent");
}
