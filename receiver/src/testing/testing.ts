// `@ringback/receiver/testing` has the helpers for a shop's own tests, which run without a network. Nothing
// of the rest of the package imports it.

export { type CallbackOptions, exampleEvent, type SignedCallback, signCallback } from "./callback.ts";
export {
	createFakeService,
	type DeliveredCallback,
	type FakeCall,
	type FakeService,
	type FakeServiceOptions,
} from "./fake-service.ts";
