// Dependencies that the use cases about accounts share.

import type { KeyRing } from "../domain/key-ring.ts";
import type { Clock, IdentityProvider, Random } from "../ports.ts";
import type { Store } from "../store/store.ts";

export interface AccountsDeps {
	store: Store;
	clock: Clock;
	random: Random;
	/** Keys that encrypt stored secrets, and from which other keys are derived. */
	keyRing: KeyRing;
}

/** Sign-in with the company's account, configured by the settings RINGBACK_OIDC_…. */
export interface CompanySignIn {
	provider: IdentityProvider;
	/** Label of the button on the sign-in page. */
	label: string;
	/** True if staff cannot sign in with a password. */
	isRequiredForStaff: boolean;
	/**
	 * True if people of shops and partners can sign in with it as well. The provider's administrators can then approve
	 * sales, because they can sign in as every owner.
	 */
	isForEveryone: boolean;
}
