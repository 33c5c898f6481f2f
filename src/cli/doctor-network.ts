// Whether the network has said what it is called, and whether the setting agrees with what its shops know.

import type { Config } from "../config.ts";
import { sayOtherBrand } from "../domain/network.ts";
import { findNetwork } from "../store/network.ts";
import type { Store } from "../store/store.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

export async function examineNetwork({ db }: Store, { brand: given }: Config): Promise<Finding> {
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
