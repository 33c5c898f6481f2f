// What a program that a test starts gets of the environment: how the machine reaches the network, and nothing of
// the run that starts it.

import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { programEnvironment } from "./run-program.ts";

const KEPT = {
	PATH: "/usr/bin",
	HOME: "/home/dev",
	NODE_EXTRA_CA_CERTS: "/etc/ssl/private-authority.pem",
	NODE_USE_SYSTEM_CA: "1",
	NODE_USE_ENV_PROXY: "1",
	SSL_CERT_FILE: "/etc/ssl/private-authority.pem",
	HTTPS_PROXY: "http://proxy.example:3128",
	no_proxy: "127.0.0.1",
	npm_config_registry: "https://packages.example/",
	npm_config_cafile: "/etc/ssl/private-authority.pem",
	npm_config_userconfig: "/home/dev/.npmrc",
	npm_config_cache: "/home/dev/.npm",
	NPM_CONFIG_STRICT_SSL: "true",
};

const DROPPED = {
	NODE_TEST_CONTEXT: "child-v8",
	NODE_OPTIONS: "--inspect",
	NODE_ENV: "production",
	RINGBACK_SIGNING_SECRET: "the developer's own",
	INIT_CWD: "/home/dev/ringback",
	npm_lifecycle_event: "test",
	npm_package_json: "/home/dev/ringback/package.json",
	npm_config_local_prefix: "/home/dev/ringback",
	npm_config_workspace: "receiver",
};

test("settings and certificates for the network are passed on, and what belongs to the outer run is not", () => {
	deepEqual(programEnvironment({ ...KEPT, ...DROPPED }), { ...KEPT, NO_COLOR: "1" });
});

test("what the test sets itself is set, whatever it is called", () => {
	const settings = { RINGBACK_SIGNING_SECRET: "of the test", NODE_ENV: "test" };
	deepEqual(programEnvironment(DROPPED, settings), { NO_COLOR: "1", ...settings });
});
