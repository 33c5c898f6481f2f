// `npm run test:debian` builds, installs, starts, upgrades, removes and purges the package with dpkg on a
// throw-away machine. No systemd runs there. systemd's own tools check the unit, and the service is started
// as the unit starts it.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildRelease, executableName } from "../../../release/build.ts";
import { makeDebianPackage } from "../../../release/debian-package.ts";
import { ARCHITECTURES } from "../../../release/node-package.ts";
import { noteNotRun } from "../../support/not-run.ts";
import { findHindrance, openThrowAwayMachine } from "./throw-away-machine.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const UNITS = ["ringback.service", "ringback-backup.service"];
const ENV_FILE = join(ROOT, "release/debian/ringback.env");
const arch = ARCHITECTURES.find((each) => each === process.arch) ?? "x64";
const hindrance = findHindrance();
const skip = hindrance === null ? false : leaveOut(`The Debian package was not installed: ${hindrance}.`);

test("the systemd units restrict the processes that they start", { skip: skipAnalysis() }, () => {
	for (const name of UNITS) {
		const unit = join(ROOT, "release/debian", name);
		const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=yes", "--no-pager", unit]);
		const [, exposure = "10"] = /Overall exposure level for \S+: ([\d.]+)/.exec(String(stdout)) ?? [];
		ok(Number(exposure) <= 1.5, String(stdout));
	}
});

function skipAnalysis(): string | false {
	const hasTool = spawnSync("systemd-analyze", ["--version"]).status === 0;
	return hasTool ? false : leaveOut("The unit was not analysed: that needs systemd-analyze.");
}

function leaveOut(reason: string): string {
	noteNotRun(reason);
	return reason;
}

describe("the Debian package", { skip }, () => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-debian-"));
	const machine = openThrowAwayMachine(folder);
	const executable = join(folder, executableName(arch));
	const make = (version: string, name: string) =>
		makeDebianPackage({
			root: ROOT,
			version,
			arch,
			executable,
			licences: readFileSync(join(folder, "LICENSES.txt"), "utf8"),
			folder,
			workFolder: mkdtempSync(join(folder, name)),
		});
	const at = (name: string) => join(folder, name);
	let first = "";
	let second = "";

	before(async () => {
		await buildRelease({
			root: ROOT,
			folder,
			architectures: [arch],
			withDebianPackages: false,
			progress: () => undefined,
		});
		first = at(await make("1.0.0", "first"));
		second = at(await make("1.0.1", "second"));
	});
	after(() => {
		machine.close();
		rmSync(folder, { recursive: true, force: true });
	});

	test("the Debian package has the same bytes when it is built again", async () => {
		const before = readFileSync(first);
		ok(before.equals(readFileSync(at(await make("1.0.0", "again")))));
	});

	test("the Debian package installs an account, settings that others cannot read, and an enabled unit", async () => {
		const installed = await machine.run(`dpkg -i ${first}`);
		equal(installed.code, 0, installed.stdout + installed.stderr);
		const seen = await machine.run(
			"getent passwd ringback; stat -c '%a %U:%G %n' /etc/ringback/ringback.env /usr/bin/ringback; ls /etc/systemd/system/multi-user.target.wants/ringback.service",
		);
		match(seen.stdout, /^ringback:x:\d+:\d+:.*:\/var\/lib\/ringback:\/usr\/sbin\/nologin$/m);
		match(seen.stdout, /^640 root:ringback \/etc\/ringback\/ringback\.env$/m);
		match(seen.stdout, /^755 root:root \/usr\/bin\/ringback$/m);
		match(seen.stdout, /^\/etc\/systemd\/system\/multi-user/m);
		for (const unit of [...UNITS, "ringback-backup.timer"]) {
			const verified = await machine.run(`systemd-analyze verify ${unit} 2>&1 | grep ringback`);
			equal(verified.stdout, "", `systemd has nothing against ${unit}`);
		}
		const timer = await machine.run(
			"ls /etc/systemd/system/timers.target.wants/ringback-backup.timer; stat -c '%a %U' /var/backups/ringback",
		);
		equal(timer.stdout, "/etc/systemd/system/timers.target.wants/ringback-backup.timer\n700 ringback\n");
		const samples = await machine.run("cd /usr/share/doc/ringback/examples && ls -d */*");
		match(samples.stdout, /^container\/compose\.yaml\n[\s\S]*^proxy\/nginx\.conf$/m);
	});

	test("the installed service starts under its own account, with its settings, and stops", async () => {
		// The values contain characters that a shell would interpret, because the settings file is not a shell
		// program.
		const settings = [
			"PORT=0",
			"SMTP_URL=smtp://user:a&b$c@127.0.0.1:9",
			"MAIL_FROM=Network <network@n.example>",
		];
		const quoted = settings.map((line) => `'${line}'`).join(" ");
		await machine.run(`printf '%s\\n' ${quoted} >> /etc/ringback/ringback.env`);
		const running = machine.start("exec ringbackctl serve");
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		equal((await fetch(`${url}/readyz`)).status, 200);
		const status = readFileSync(`/proc/${running.pid}/status`, "utf8");
		doesNotMatch(status, /^Uid:\s+0\b/m, "not as root");
		running.kill("SIGTERM");
		equal((await running.ended()).code, 0);
		const state = await machine.run("stat -c '%a %U %n' /var/lib/ringback /var/lib/ringback/*");
		match(state.stdout, /^700 ringback \/var\/lib\/ringback$/m);
		match(state.stdout, /^600 ringback \/var\/lib\/ringback\/ringback\.db$/m);
	});

	test("the command of the backup timer backs up the installed service, and the backup can be restored", async () => {
		// This is the command that the settings file gives for creating the passphrase file.
		const [, make = ""] = /^# {3}(\(umask .*)$/m.exec(readFileSync(ENV_FILE, "utf8")) ?? [];
		equal((await machine.run(make)).code, 0);
		const unit = (await machine.run("cat /usr/lib/systemd/system/ringback-backup.service")).stdout;
		const [, condition = ""] = /^ConditionPathExists=(.+)$/m.exec(unit) ?? [];
		equal((await machine.run(`stat -c '%a %U:%G' ${condition}`)).stdout, "640 root:ringback\n");
		const [, words = ""] = /^ExecStart=\/usr\/bin\/ringback (.+)$/m.exec(unit) ?? [];
		const backUp = `ringbackctl ${words.replace(/\$\{BACKUPS_KEPT\}/, "1")}`;
		for (const _ of [1, 2]) {
			// The file name contains the time in seconds, so a second backup within the same second would be
			// refused.
			const made = await machine.run(`sleep 1 && ${backUp}`);
			equal(made.code, 0, made.stderr);
			match(made.stdout, /the key is in it, sealed by the passphrase/);
		}
		const kept = (await machine.run("stat -c '%a %U %n' /var/backups/ringback/*")).stdout;
		const [, backup = ""] = /^600 ringback (\S+\.backup)\n$/.exec(kept) ?? [];
		ok(backup !== "", `one is kept, and nobody else can read it: ${kept}`);
		const passphrase = `--passphrase-file ${condition}`;
		equal((await machine.run(`ringbackctl verify ${backup} ${passphrase}`)).code, 0);
		const before = await readState();
		const restored = await machine.run(`ringbackctl restore ${backup} --force ${passphrase}`);
		equal(restored.code, 0, restored.stderr);
		match(restored.stdout, /No callback is owed/);
		equal((await machine.run("rm /var/lib/ringback/*.before-*")).code, 0);
		deepEqual(await readState(), before);
	});

	test("upgrading the Debian package does not change settings and data", async () => {
		const before = await readState();
		const upgraded = await machine.run(`dpkg --force-confold -i ${second}`);
		equal(upgraded.code, 0, upgraded.stderr);
		match((await machine.run("dpkg-query -W ringback")).stdout, /\t1\.0\.1$/m);
		deepEqual(await readState(), before);
		match(before, /PORT=0/);
		equal((await machine.run("ringbackctl migrate")).code, 0);
	});

	test("removing the Debian package removes its programs, but not settings and data", async () => {
		const before = await readState();
		equal((await machine.run("dpkg -r ringback")).code, 0);
		equal(
			(await machine.run("test ! -e /usr/bin/ringback -a ! -e /usr/lib/systemd/system/ringback.service"))
				.code,
			0,
		);
		deepEqual(await readState(), before);
	});

	test("purging the Debian package removes its settings, leaves the data, and says where the data is", async () => {
		const purged = await machine.run("dpkg -P ringback");
		equal(purged.code, 0, purged.stderr);
		match(purged.stderr, /The data of Ringback is kept.*rm -r \/var\/lib\/ringback/);
		match(purged.stderr, /Its backups are kept in \/var\/backups\/ringback/);
		const left = await machine.run(
			"ls -d /etc/ringback/ringback.env /var/lib/ringback/ringback.db /etc/systemd/system/multi-user.target.wants/ringback.service",
		);
		equal(left.stdout, "/var/lib/ringback/ringback.db\n");
	});

	async function readState(): Promise<string> {
		const state = "cat /etc/ringback/ringback.env; cd /var/lib/ringback; sha256sum ringback.db.key; ls";
		return (await machine.run(state)).stdout;
	}
});
