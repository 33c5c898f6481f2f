// Tests backups of a SQLite database. A backup is complete or does not exist, is refused if a byte is wrong,
// and is restored without losing the existing database.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs, {
	chownSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { sql } from "kysely";
import { writeBackupFile } from "../../src/outside/backup-file.ts";
import { type BackupRequest, backUpSqlite } from "../../src/service/backup.ts";
import { restoreSqlite } from "../../src/service/restore.ts";
import { findDiskWays, openDisk } from "../support/full-disk.ts";
import { skipHere } from "../support/not-run.ts";
import "../support/quick-passphrases.ts";
import { enlarge, openBackupSetup, PASSPHRASE, tell } from "./backup-setup.ts";

test("a backup is one complete file with the sealed key, which only its owner can read, and leaves no other file", async (t) => {
	const setup = await openBackupSetup(t);
	const stages: string[] = [];
	const report = await setup.backUp({ tell: (stage) => stages.push(stage) });
	deepEqual(setup.files(), ["one.backup"]);
	equal((statSync(report.path).mode & 0o777).toString(8), "600");
	deepEqual([report.bytes, report.hasKey], [statSync(report.path).size, true]);
	ok(report.bytes < report.manifest.databaseBytes, "it is compressed");
	deepEqual(stages, [
		"copying the database",
		"checking the database's pages",
		"checking the ledger",
		"packing",
		"reading it back",
	]);
	const bytes = readFileSync(report.path);
	equal(bytes.includes(Buffer.from(setup.key)), false, "the key is not in it");
	equal(bytes.includes(Buffer.from(setup.key).toString("hex")), false);

	const verified = await setup.verify(report.path);
	ok(verified.kind === "backup");
	equal(verified.key, "opened");
	deepEqual(verified.database.damage, []);
	deepEqual(verified.database.ledger?.broken, []);
	const { total, unopened } = verified.database.sealed;
	deepEqual({ total, unopened }, { total: 1, unopened: 0 });
	deepEqual(setup.files(), ["one.backup"], "the unpacked copy is removed");
});

test("tar unpacks a backup, sha256sum confirms its members, and zstd gives the database", async (t) => {
	const setup = await openBackupSetup(t);
	const { path, manifest } = await setup.backUp();
	const run = (program: string, ...words: string[]) =>
		execFileSync(program, words, { cwd: setup.folder, encoding: "utf8" });
	match(
		run("tar", "tvf", path),
		/^-rw-{7} 0\/0 +\d+ .* ringback\.db\.zst\n.* manifest\.json\n.* SHA256SUMS\n$/,
	);
	run("tar", "xf", path);
	equal(run("sha256sum", "--check", "SHA256SUMS"), "ringback.db.zst: OK\nmanifest.json: OK\n");
	deepEqual(JSON.parse(readFileSync(setup.path("manifest.json"), "utf8")), { form: 1, ...manifest });
	writeFileSync(setup.path("by-hand.db"), zstdDecompressSync(readFileSync(setup.path("ringback.db.zst"))));
	equal(count(setup.path("by-hand.db"), "queue"), 3);
});

test("a restored database has every row, its key, and the file settings of a new database", async (t) => {
	const setup = await openBackupSetup(t);
	const before = readTables(setup.databasePath);
	const { manifest } = await setup.backUp();
	const to = setup.path("restored.db");
	const report = await setup.restore(to);
	deepEqual([report.key, report.keptAside, report.isToBeMigrated], ["written", [], false]);
	deepEqual(setup.files(), ["one.backup", "restored.db", "restored.db.key"]);
	for (const name of [to, `${to}.key`]) equal((statSync(name).mode & 0o777).toString(8), "600", name);
	equal(readFileSync(`${to}.key`, "utf8"), readFileSync(`${setup.databasePath}.key`, "utf8"));
	const { restores = "", ...others } = readTables(to);
	deepEqual({ ...others, restores: "[]" }, before);
	match(restores, new RegExp(`"as_of_ms":${Date.parse(manifest.createdAt)},`));
	using restored = new DatabaseSync(to);
	equal(restored.prepare("pragma auto_vacuum").get()?.["auto_vacuum"], 2, "the file can still shrink");
});

test("a backup without the key contains no part of it, and restoring says whether a key here opens the secrets", async (t) => {
	const setup = await openBackupSetup(t);
	const { manifest } = await setup.backUp({ passphrase: null });
	equal(manifest.key, null);
	const neverAsked = { readPassphrase: () => Promise.reject(new Error("nobody has a passphrase for it")) };
	equal((await setup.restore(setup.path("alone.db"), neverAsked)).key, "missing");
	const beside = setup.path("beside.db");
	copyFileSync(`${setup.databasePath}.key`, `${beside}.key`);
	equal((await setup.restore(beside, neverAsked)).key, "there already");
	const verified = await setup.verify(setup.path("one.backup"), { passphrase: null });
	ok(verified.kind === "backup");
	const { total, unopened } = verified.database.sealed;
	deepEqual([verified.key, total, unopened], ["left out", 1, null]);
});

test("a backup overwrites an existing file only on request, and never a link, a folder or the database", async (t) => {
	const setup = await openBackupSetup(t);
	writeFileSync(setup.path("old"), "an older backup");
	mkdirSync(setup.path("folder"));
	symlinkSync(setup.path("old"), setup.path("link"));
	symlinkSync(setup.path("nowhere"), setup.path("dangling"));
	const before = setup.files();
	const refuses = (path: string, words: RegExp, change: Partial<BackupRequest> = {}) =>
		rejects(setup.backUp({ path, ...change }), words);
	await refuses(setup.path("old"), /old is there already\. Choose another name, or --force/);
	for (const mayOverwrite of [false, true]) {
		await refuses(setup.path("folder"), /folder is a folder\. Name a file in it\.$/, { mayOverwrite });
		await refuses(setup.path("link"), /link is a link or a device\. Name a file\.$/, { mayOverwrite });
		await refuses(setup.path("dangling"), /is a link or a device/, { mayOverwrite });
		await refuses(setup.path("none/one"), /^Error: There is no folder .*none\. Make it first\.$/, {
			mayOverwrite,
		});
		await refuses(setup.databasePath, /belongs to the database\. Name another file\.$/, { mayOverwrite });
	}
	deepEqual(setup.files(), before);
	equal(readFileSync(setup.path("old"), "utf8"), "an older backup");
	await setup.backUp({ path: setup.path("old"), mayOverwrite: true });
	equal((await setup.verify(setup.path("old"))).kind, "backup");
	deepEqual(setup.files(), before);
});

test("a backup never takes the name of one of the database's files, even if that file does not exist or is named by a link", async (t) => {
	const setup = await openBackupSetup(t);
	const data = dirname(setup.databasePath);
	const key = readFileSync(`${setup.databasePath}.key`, "utf8");
	symlinkSync(data, setup.path("way"));
	const linked = setup.path("linked.db");
	symlinkSync(setup.databasePath, linked);
	const before = readdirSync(data);
	for (const suffix of [".key", "-wal", "-shm", "-journal"]) {
		const name = `ringback.db${suffix}`;
		for (const path of [join(data, name), join(setup.path("way"), name)]) {
			for (const mayOverwrite of [false, true]) {
				await rejects(
					setup.backUp({ path, mayOverwrite }),
					/belongs to the database\. Name another file\.$/,
					path,
				);
			}
		}
		const request = { passphrase: PASSPHRASE, mayOverwrite: true, tell };
		const config = { secretKey: setup.key, formerSecretKey: null, databasePath: linked };
		for (const path of [`${linked}${suffix}`, `${setup.databasePath}${suffix}`]) {
			await rejects(backUpSqlite(config, { ...request, path }), /belongs to the database/, path);
		}
	}
	deepEqual(readdirSync(data), before);
	equal(readFileSync(`${setup.databasePath}.key`, "utf8"), key);
	deepEqual(setup.files(), ["linked.db", "way"]);
});

test("files that root restores belong to the folder's owner, and a link in their place is not followed", async (t) => {
	if (process.getuid?.() !== 0) {
		return skipHere(t, "Giving restored files to the folder's owner needs root.");
	}
	const setup = await openBackupSetup(t);
	await setup.backUp();
	const folder = setup.path("theirs");
	mkdirSync(folder);
	chownSync(folder, 4321, 8765);
	const to = join(folder, "ringback.db");
	await setup.restore(to);
	for (const name of [to, `${to}.key`])
		deepEqual([statSync(name).uid, statSync(name).gid], [4321, 8765], name);

	const victim = setup.path("victim");
	writeFileSync(victim, "root's own");
	let swapped = 0;
	// At this stage the restored database is complete under its temporary name and about to be checked.
	const swap = (stage: string): void => {
		const [draft] = readdirSync(folder).filter((name) => name.startsWith("ringback.db.partial-"));
		if (stage !== "checking the database's pages" || draft === undefined || swapped > 0) return;
		swapped++;
		renameSync(join(folder, draft), join(folder, "moved"));
		symlinkSync(victim, join(folder, draft));
	};
	await rejects(setup.restore(to, { mayReplace: true, tell: swap }), /is broken: file is not a database/);
	equal(swapped, 1);
	deepEqual([statSync(victim).uid, readFileSync(victim, "utf8")], [0, "root's own"]);
	equal(count(to, "queue"), 3, "the existing database is unchanged");
});

test("a wrong passphrase restores nothing and writes nothing", async (t) => {
	const setup = await openBackupSetup(t);
	await setup.backUp();
	const readPassphrase = async () => `${PASSPHRASE}.`;
	await rejects(
		setup.restore(setup.path("restored.db"), { readPassphrase }),
		/^Error: The passphrase does not open the key in .*one\.backup\.$/,
	);
	deepEqual(setup.files(), ["one.backup"]);
	const verified = await setup.verify(setup.path("one.backup"), { passphrase: "another one entirely" });
	ok(verified.kind === "backup");
	equal(verified.key, "another passphrase");
});

test("a truncated file is refused at any length, and nothing is restored", async (t) => {
	const setup = await openBackupSetup(t);
	const { bytes, path } = await setup.backUp();
	const damaged = setup.path("damaged");
	for (const length of [0, 10, 100, 600, Math.floor(bytes / 2), bytes - 2_600, bytes - 1_500]) {
		copyFileSync(path, damaged);
		truncateSync(damaged, length);
		const refused = /not a backup|neither a backup nor a SQLite file|is damaged or was cut/;
		await rejects(setup.restore(setup.path("restored.db"), { path: damaged }), refused, `${length} bytes`);
		await rejects(setup.verify(damaged), refused, `${length} bytes`);
		deepEqual(setup.files(), ["damaged", "one.backup"], `${length} bytes`);
	}
});

test("one changed byte in any part of a backup is detected", async (t) => {
	const setup = await openBackupSetup(t);
	const { path } = await setup.backUp();
	const whole = readFileSync(path);
	const [manifestAt, sumsAt] = [whole.indexOf("manifest.json\0"), whole.lastIndexOf("SHA256SUMS\0")];
	const positions = [20, 130, 150, 512, 521, manifestAt + 130, whole.indexOf('"createdAt": "20') + 16];
	positions.push(sumsAt + 3, sumsAt + 512, sumsAt + 600);
	for (let n = 1; n < 12; n++) positions.push(512 + Math.floor(((manifestAt - 1_024) * n) / 12));
	for (const position of positions) {
		const changed = Buffer.from(whole);
		changed[position] = (changed[position] ?? 0) ^ 1;
		writeFileSync(setup.path("damaged"), changed);
		const where = `byte ${position} of ${whole.length}`;
		const refused = /is damaged or was cut/;
		await rejects(setup.verify(setup.path("damaged")), refused, where);
		await rejects(setup.restore(setup.path("x.db"), { path: setup.path("damaged") }), refused, where);
	}
	deepEqual(setup.files(), ["damaged", "one.backup"]);
});

test("a file that is not a backup is recognized, and a plain SQLite file is checked as a database", async (t) => {
	const setup = await openBackupSetup(t);
	writeFileSync(setup.path("text"), "The quick brown fox jumps over the lazy dog.\n".repeat(1_000));
	await rejects(
		setup.restore(setup.path("x.db"), { path: setup.path("text") }),
		/text is not a backup that /,
	);
	await rejects(
		setup.restore(setup.path("x.db"), { path: setup.path("none") }),
		/There is no file .*none\.$/,
	);
	await rejects(setup.restore(setup.path("x.db"), { path: setup.folder }), /is a folder/);
	await rejects(setup.verify(setup.path("text")), /text is neither a backup nor a SQLite file\.$/);
	const verified = await setup.verify(setup.databasePath);
	ok(verified.kind === "sqlite");
	deepEqual([verified.database.damage, verified.database.ledger?.broken], [[], []]);
	const { total, unopened } = verified.database.sealed;
	deepEqual({ total, unopened }, { total: 1, unopened: 0 }, "the key beside the database opens everything");
	deepEqual(setup.files(), ["text"]);
});

test("a database that breaks a rule of the ledger is backed up and restored with a warning, but never with a wrong key", async (t) => {
	const setup = await openBackupSetup(t);
	copyFileSync(`${setup.databasePath}.key`, setup.path("key"));
	writeFileSync(`${setup.databasePath}.key`, `${"ab".repeat(32)}\n`);
	await rejects(setup.backUp(), /The sealing key does not open the signing secrets/);
	copyFileSync(setup.path("key"), `${setup.databasePath}.key`);
	const store = setup.open();
	await sql`delete from queue where id = (select min(id) from queue)`.execute(store.db);
	await store.close();
	const problem =
		"events are neither in the queue nor undelivered, and no attempt succeeded, so they are lost";
	const said = ({ broken }: { broken: readonly { problem: string; count: number }[] }) =>
		broken.map((rule) => [rule.count, rule.problem]);
	deepEqual(said(await setup.backUp()), [[1, problem]]);
	deepEqual(said(await setup.restore(setup.path("restored.db"))), [[1, problem]]);
});

test("an existing database is replaced only on request, and is moved aside with its key and its log", async (t) => {
	const setup = await openBackupSetup(t);
	await setup.backUp();
	const to = setup.databasePath;
	await rejects(
		setup.restore(to),
		/ringback\.db is there already\. Choose another file with --to, or --force/,
	);

	const store = setup.open();
	await sql`insert into audit_entries (at_ms, action) values (1, 'after the backup')`.execute(store.db);
	await rejects(
		setup.restore(to, { mayReplace: true }),
		/Something works on .*ringback\.db just now\. Stop the service first/,
	);
	equal(
		(await sql`select 1 from audit_entries where action = 'after the backup'`.execute(store.db)).rows.length,
		1,
	);
	await store.close();

	const { keptAside, key } = await setup.restore(to, { mayReplace: true });
	equal(key, "written");
	deepEqual(
		keptAside.map((path) => path.replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z/, "TIME")),
		[`${to}.before-TIME`, `${to}.before-TIME.key`],
	);
	const [aside = ""] = keptAside;
	equal(count(aside, "audit_entries where action = 'after the backup'"), 1);
	equal(count(to, "audit_entries where action = 'after the backup'"), 0);
	equal(count(to, "queue"), 3);
});

test("restoring does not overwrite another database's key, and does not use another database's write-ahead log", async (t) => {
	const setup = await openBackupSetup(t);
	await setup.backUp();
	const to = setup.path("restored.db");
	writeFileSync(`${to}.key`, `${"cd".repeat(32)}\n`);
	await rejects(setup.restore(to), /restored\.db\.key holds another key than the backup\. Choose --force/);
	writeFileSync(`${to}-wal`, "of an earlier database");
	await rejects(setup.restore(to), /There is no database .*, and .*restored\.db-wal of an earlier one/);
	const { keptAside } = await setup.restore(to, { mayReplace: true });
	equal(keptAside.length, 2);
	deepEqual(
		keptAside.filter((path) => !existsSync(path)),
		[],
	);
	equal(existsSync(`${to}-wal`), false);
	equal(count(to, "queue"), 3);
});

for (const hasLinks of [true, false]) {
	const where = hasLinks ? "" : ", also on a file system without hard links";
	test(`if the database cannot be put in place, the error names the files that were kept, and nothing is lost${where}`, async (t) => {
		const setup = await openBackupSetup(t);
		await setup.backUp();
		const to = setup.databasePath;
		const key = readFileSync(`${to}.key`, "utf8");
		if (!hasLinks) withoutLinks(t);
		failRenames(t, (from, name) => from.includes(".partial-") && name === to);
		const said = await setup.restore(to, { mayReplace: true }).catch((error: unknown) => String(error));
		ok(typeof said === "string");
		match(
			said,
			/The backup was not put in place: the disk is full\. Nothing is lost: before you start the service, rename /,
		);
		const moves = [...said.matchAll(/(\S+\.before-\S+) to (\S+?)(?=,|\.$)/g)].map(
			([, aside = "", path = ""]) => [aside, path],
		);
		deepEqual(
			moves.map(([, path]) => path),
			[`${to}.key`, to],
		);
		for (const [aside = "", path = ""] of moves) copyFileSync(aside, path);
		equal(readFileSync(`${to}.key`, "utf8"), key);
		equal(count(to, "queue"), 3);
	});
}

test("a key that equals RINGBACK_SECRET_KEY is not written to the disk, and a different one causes a warning", async (t) => {
	const setup = await openBackupSetup(t);
	const request = { passphrase: PASSPHRASE, mayOverwrite: false, tell };
	const path = setup.path("one.backup");
	const settings = { secretKey: setup.key, formerSecretKey: null };
	await backUpSqlite({ ...settings, databasePath: setup.databasePath }, { path, ...request });
	const ask = { path, readPassphrase: async () => PASSPHRASE, mayReplace: false, tell };
	const same = await restoreSqlite(settings, { ...ask, to: setup.path("same.db") });
	equal(same.key, "there already");
	equal(existsSync(setup.path("same.db.key")), false);
	const other = { ...settings, secretKey: Buffer.alloc(32, 7) };
	equal((await restoreSqlite(other, { ...ask, to: setup.path("other.db") })).key, "setting differs");
});

test("a backup with a newer schema or format is refused", async (t) => {
	const setup = await openBackupSetup(t);
	const { manifest } = await setup.backUp();
	const schema = { ...manifest.schema, version: 99, oldestProgram: 99 };
	const from = setup.databasePath;
	await writeBackupFile({ ...manifest, schema }, { from, to: setup.path("newer") });
	await rejects(
		setup.restore(setup.path("x.db"), { path: setup.path("newer") }),
		/schema version 99, which needs a Ringback that knows version 99 or later/,
	);
	await writeBackupFile(Object.assign({ ...manifest }, { form: 2 }), { from, to: setup.path("later") });
	await rejects(setup.verify(setup.path("later")), /was made by a later Ringback/);
	deepEqual(setup.files(), ["later", "newer", "one.backup"]);
});

test("a full disk is reported in a sentence, and no file is left on it", async (t) => {
	const ways = await findDiskWays();
	if (!ways.includes("small file system")) {
		return skipHere(t, "A backup on a full disk needs root, to mount a small file system.");
	}
	const setup = await openBackupSetup(t);
	const store = setup.open();
	await enlarge(store, 2);
	await store.close();
	const disk = await openDisk("small file system", setup.folder);
	t.after(() => disk.remove());
	const path = join(disk.folder, "one.backup");
	for (const stage of ["copying the database", "packing"]) {
		await rejects(
			// `fill` does its work synchronously, so its promise need not be awaited.
			setup.backUp({ path, tell: (begun) => void (begun === stage ? disk.fill([]) : undefined) }),
			/^Error: Nothing was written to .*: the disk is full\./,
			stage,
		);
		deepEqual(readdirSync(disk.folder), ["ballast"], stage);
		await rejects(
			setup.backUp({ path }),
			/^Error: A backup needs [\d.]+ MB in .*, and [\d.]+ [kM]B are free\. Make room/,
		);
		await disk.makeRoom([]);
	}
	await setup.backUp({ path });
	await disk.fill([]);
	await rejects(
		setup.restore(join(disk.folder, "x.db"), { path }),
		/^Error: The database needs [\d.]+ MB in /,
	);
	await rejects(setup.verify(path), /^Error: Checking the database in the backup needs /);
	deepEqual(readdirSync(disk.folder).sort(), ["ballast", "one.backup"]);
});

/** Returns all rows of all tables as text. */
function readTables(path: string): Record<string, string> {
	using database = new DatabaseSync(path);
	const tables = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
	return Object.fromEntries(
		tables.map(({ name }) => [String(name), JSON.stringify(database.prepare(`select * from ${name}`).all())]),
	);
}

function count(path: string, from: string): number {
	using database = new DatabaseSync(path);
	return Number(database.prepare(`select count(*) as n from ${from}`).get()?.["n"]);
}

/** Makes hard links fail as on a FAT file system, where Linux reports EPERM. */
function withoutLinks(t: TestContext): void {
	const linking = t.mock.method(fs, "linkSync", () => {
		throw Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
	});
	applyMock(t, linking.mock);
}

function failRenames(t: TestContext, isFailing: (from: string, to: string) => boolean): void {
	const real = fs.renameSync;
	const renaming = t.mock.method(fs, "renameSync", (from: string, to: string) => {
		if (isFailing(from, to)) throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
		real(from, to);
	});
	applyMock(t, renaming.mock);
}

/** Updates the named imports of the mocked module, now and when the mock is removed. */
function applyMock(t: TestContext, mock: { restore(): void }): void {
	syncBuiltinESMExports();
	t.after(() => {
		mock.restore();
		syncBuiltinESMExports();
	});
}
