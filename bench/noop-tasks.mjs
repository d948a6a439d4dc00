// A task that does nothing: what is measured is Carillon.
export default { noop: () => undefined }
