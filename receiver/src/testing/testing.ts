// `@ringback/receiver/testing`: what a shop's own tests need, so that they run without a network. Nothing of the
// rest of the package imports it.

export { type CallbackOptions, exampleEvent, type SignedCallback, signCallback } from "./callback.ts";
export {
	createFakeService,
	type DeliveredCallback,
	type FakeCall,
	type FakeService,
	type FakeServiceOptions,
} from "./fake-service.ts";
