// The dependencies of the use cases about personal data.

import type { AccountsDeps } from "../people/deps.ts";
import type { Log } from "../ports.ts";

export interface PrivacyDeps extends AccountsDeps {
	log: Log;
}
