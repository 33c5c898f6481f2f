import type { AccountsDeps } from "#core/people/deps.ts";
import type { Log } from "#core/ports.ts";

export interface PrivacyDeps extends AccountsDeps {
	log: Log;
}
