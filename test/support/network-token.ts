import { sha256Hex } from "#core/domain/signature.ts";
import { createPerson } from "#core/people/people.ts";
import { insertApiToken } from "#core/store/queries/api-tokens.ts";
import type { Service } from "../../src/service.ts";
import { expectValue } from "./shop-account.ts";

/** Issues a token that reads everything. */
export async function issueNetworkToken(deps: Pick<Service, "store" | "clock" | "random">): Promise<string> {
	const { store, clock } = deps;
	const issuer = expectValue(await createPerson(deps, { email: "issuer@network.example", kind: "staff" }));
	const token = `rbn_${"1".padStart(64, "0")}`;
	await insertApiToken(store.db, {
		public_id: "tok_1",
		partner_id: null,
		name: "reader",
		hash: sha256Hex(token),
		hint: token.slice(-4),
		token_right: "read",
		issued_by: issuer.id,
		created_at_ms: clock.nowMs(),
		expires_at_ms: null,
	});
	return token;
}
