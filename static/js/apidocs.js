// Shows the OpenAPI document with Swagger UI; without it the page links the document itself. Calls go out with the session of this browser.
const place = document.getElementById('swagger');
window.SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
});
