// Runs the sample settings of a reverse proxy with the real program on free ports. Only the listening address, the
// service's address and the certificate are changed.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { makeCertificates } from "../../demo/certificate.ts";
import { findProgram } from "../support/find-program.ts";
import { freePort } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { type Running, watchProcess } from "../support/watched-process.ts";

export interface RunningProxy {
	/** HTTPS URL of the proxy at a loopback address. */
	url: string;
	/** Plain HTTP address of the sample, or null if it has none. */
	plainUrl: string | null;
	caPem: string;
	/** Returns what the proxy has logged so far. */
	log(): string;
}

export interface ProxyKind {
	name: "nginx" | "caddy" | "haproxy";
	/** Name of the Debian package that contains the proxy. */
	packageName: string;
	/** Applies `changes` to the sample settings and starts the proxy in front of this address. */
	start(t: TestContext, upstream: string, changes?: Changes): Promise<RunningProxy>;
}

type Changes = readonly (readonly [from: string, to: string])[];

/** Host name besides the proxy's address, as in the guide's section "A host for partners' links". */
export const CLICK_HOST = "localhost";
const SAMPLES = fileURLToPath(new URL("../../ops/proxy/", import.meta.url));
/**
 * Shell script that runs the proxy. It ends together with the test process in every case, because its input
 * pipe closes then.
 */
const KEPT = `"$@" & pid=$!; cat > /dev/null; kill -TERM $pid; wait $pid`;

export const PROXIES: readonly ProxyKind[] = [
	{ name: "nginx", packageName: "nginx-light", start: startNginx },
	{ name: "caddy", packageName: "caddy", start: startCaddy },
	{ name: "haproxy", packageName: "haproxy", start: startHaproxy },
];

async function startNginx(t: TestContext, upstream: string, changes: Changes = []): Promise<RunningProxy> {
	const folder = makeFolder(t);
	const [tls, plain] = [await freePort(), await freePort()];
	const { caPem, certPem, keyPem } = await makeCertificates({ names: ["127.0.0.1", CLICK_HOST] });
	const put = (name: string, text: string): string => {
		writeFileSync(join(folder, name), text);
		return join(folder, name);
	};
	const accessLog = join(folder, "access.log");
	const sample = replaceAll(readFileSync(join(SAMPLES, "nginx.conf"), "utf8"), [
		["server_name network.example;", `server_name network.example ${CLICK_HOST};`],
		["server 127.0.0.1:8080 fail", `server ${upstream} fail`],
		["listen 80;", `listen 127.0.0.1:${plain};`],
		["listen 443 ssl http2;", `listen 127.0.0.1:${tls} ssl http2;`],
		["/etc/letsencrypt/live/network.example/fullchain.pem", put("certificate.pem", certPem)],
		["/etc/letsencrypt/live/network.example/privkey.pem", put("key.pem", keyPem)],
		["/var/log/nginx/ringback.log", accessLog],
		...changes,
	]);
	const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
		(name) => `${name}_temp_path ${join(folder, name)};`,
	);
	// The settings around the sample are Debian's, including gzip.
	const settings = [
		"daemon off;",
		...(process.getuid?.() === 0 ? ["user root;"] : []),
		`pid ${join(folder, "pid")};`,
		// The first lines of the sample require this setting.
		"events { worker_connections 8192; }",
		`http { access_log off; gzip on; ${temporary.join(" ")} include ${put("sample.conf", sample)}; }`,
	];
	const program = expectProgram("nginx");
	const args = ["-p", folder, "-e", "stderr", "-c", put("nginx.conf", settings.join("\n"))];
	await untilListening(start(t, folder, [program, ...args]), tls);
	const log = () => readFileSync(accessLog, "utf8");
	return { url: `https://127.0.0.1:${tls}`, plainUrl: `http://127.0.0.1:${plain}`, caPem, log };
}

async function startHaproxy(t: TestContext, upstream: string, changes: Changes = []): Promise<RunningProxy> {
	const folder = makeFolder(t);
	const [tls, plain] = [await freePort(), await freePort()];
	const { caPem, certPem, keyPem } = await makeCertificates({ names: ["127.0.0.1", CLICK_HOST] });
	const certificate = join(folder, "certificate.pem");
	writeFileSync(certificate, `${certPem}\n${keyPem}`);
	const sample = replaceAll(readFileSync(join(SAMPLES, "haproxy.cfg"), "utf8"), [
		["\tuser haproxy\n\tgroup haproxy\n", ""],
		["bind :80\n", `bind 127.0.0.1:${plain}\n`],
		["bind :443 ", `bind 127.0.0.1:${tls} `],
		["/etc/haproxy/network.example.pem", certificate],
		["server first 127.0.0.1:8080", `server first ${upstream}`],
		...changes,
	]);
	const settings = join(folder, "haproxy.cfg");
	writeFileSync(settings, sample);
	const running = await untilListening(
		start(t, folder, [expectProgram("haproxy"), "-db", "-f", settings]),
		tls,
	);
	const log = () => running.stdout;
	return { url: `https://127.0.0.1:${tls}`, plainUrl: `http://127.0.0.1:${plain}`, caPem, log };
}

async function startCaddy(t: TestContext, upstream: string): Promise<RunningProxy> {
	const folder = makeFolder(t);
	const tls = await freePort();
	const settings = join(folder, "Caddyfile");
	// Caddy creates its own CA for an address, which must not become trusted on this machine.
	const storage = `storage file_system ${join(folder, "storage")}`;
	const options = ["admin off", "skip_install_trust", "auto_https disable_redirects", storage];
	const program = expectProgram("caddy");
	const sample = readFileSync(join(SAMPLES, "Caddyfile"), "utf8");
	writeFileSync(settings, `{\n${options.join("\n")}\n}\n${spellFor(program, sample)}`);
	const command = [program, "run", "--adapter", "caddyfile", "--config", settings];
	const url = `https://127.0.0.1:${tls}`;
	const authority = join(folder, "storage/pki/authorities/local/root.crt");
	const hosts = `${url}, https://${CLICK_HOST}:${tls}`;
	const child = start(t, folder, command, { NETWORK_HOST: hosts, RINGBACK_UPSTREAM: upstream, HOME: folder });
	const running = await untilListening(child, tls);
	await until(() => existsSync(authority));
	return { url, plainUrl: null, caPem: readFileSync(authority, "utf8"), log: () => running.stderr };
}

/**
 * Adapts the sample to Caddy 2.6.2, the version in Debian 12 and 13, which spells some settings differently.
 * A comment in the sample says so, too.
 */
function spellFor(program: string, sample: string): string {
	const version = execFileSync(program, ["version"], { encoding: "utf8" });
	if (!/^v?2\.6\.2\b/.test(version)) return sample;
	return replaceAll(sample, [
		["\t\trequest_buffers 1MiB\n", "\t\tbuffer_requests\n\t\tmax_buffer_size 1MiB\n"],
	]);
}

function makeFolder(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-proxy-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

function start(
	t: TestContext,
	cwd: string,
	command: readonly string[],
	settings: Readonly<Record<string, string>> = {},
): ChildProcess {
	const env = { PATH: process.env["PATH"] ?? "", ...settings };
	const child = spawn("/bin/sh", ["-c", KEPT, "proxy", ...command], { cwd, env });
	t.after(async () => {
		if (child.exitCode !== null) return;
		child.stdin?.end();
		await once(child, "exit");
	});
	return child;
}

/** Waits until the proxy listens and has its certificate, which Caddy creates later. */
async function untilListening(child: ChildProcess, port: number): Promise<Running> {
	const running = watchProcess(child);
	await until(
		() => {
			if (!running.isRunning) throw new Error(`it ended: ${running.stderr}`);
			return speaksTls(port);
		},
		() => running.stderr,
	);
	return running;
}

async function speaksTls(port: number): Promise<boolean> {
	const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
	const speaks = await once(socket, "secureConnect").then(
		() => true,
		() => false,
	);
	socket.destroy();
	return speaks;
}

function replaceAll(text: string, changes: Changes): string {
	return changes.reduce((changed, [from, to]) => {
		if (!changed.includes(from)) throw new Error(`the sample has no "${from}" any more`);
		return changed.replaceAll(from, to);
	}, text);
}

function expectProgram(name: string): string {
	const program = findProgram(name);
	if (program === undefined) throw new Error(`there is no ${name} here`);
	return program;
}
