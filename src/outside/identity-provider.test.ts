// Tests which answers of an identity provider are trusted. The sign-in itself is tested in
// core/web/sign-in/company-sign-in.test.ts.

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { makeCertificates } from "../../demo/certificate.ts";
import { CLIENT_ID, CLIENT_SECRET, startIdentityProvider } from "../../test/support/identity-provider.ts";
import { createIdentityProvider } from "./identity-provider.ts";

test("a provider with a certificate of a private authority is used only if the operator trusts the authority", async (t) => {
	const certificates = await makeCertificates({ names: ["127.0.0.1"] });
	const server = await startIdentityProvider({ certificates });
	t.after(() => server.close());
	server.register("https://ringback.example/sign-in/company/return");
	const client = { issuer: server.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
	const trusting = createIdentityProvider({ ...client, trustedCa: certificates.caPem });
	t.after(() => trusting.close());
	deepEqual(await trusting.check(), { ok: true, value: true });
	const careful = createIdentityProvider(client);
	t.after(() => careful.close());
	const answer = await careful.check();
	equal(answer.ok ? null : answer.problem, "unavailable");
	match(answer.ok ? "" : answer.reason, /certificate/);
});
